package import Contract

/// What a whisperer says beside the line under its hands, and what a listener says to it (contract §14.8, §14.9).
extension WhisperClient {
    package func isWhispering(in id: ConversationID) -> Bool { self.whispering[id] != nil }

    package func isListening(to id: ConversationID) -> Bool { self.listening[id] != nil }

    /// The same, unless it is over: then its user may try again.
    package func isStillListening(to id: ConversationID) -> Bool {
        switch self.listening[id]?.machine.state {
        case nil, .over: false
        default: true
        }
    }

    /// Returns when everything that was typed is written to the connection, or the time is over.
    package func lastWords(in id: ConversationID, within most: Duration) async {
        let deadline = ContinuousClock.now + most
        while !self.hasSentAll(of: id), ContinuousClock.now < deadline {
            do { try await Task.sleep(for: Self.patience) } catch { return }
        }
    }

    /// Between two looks whether all has gone out.
    private static var patience: Duration { .milliseconds(20) }

    /// Completes lines in between: the one that is being typed stays.
    /// - Throws: `Full` if too much waits already; nothing was taken then.
    package func interject(_ text: String, in id: ConversationID) throws(WhispererMachine.Full) {
        try self.whispering[id]?.machine.interject(text)
        self.pump()
    }

    /// - Parameter listener: whom the cue is for; `nil`: everybody.
    /// - Throws: `Full` if too much waits already; nothing was taken then.
    package func play(_ cue: LiveCue, to listener: PrincipalID?, in id: ConversationID) throws(WhispererMachine.Full) {
        try self.whispering[id]?.machine.play(cue, to: listener)
        self.pump()
    }

    /// Tells the whisperer what we want. It may be lost.
    package func raise(_ want: LiveAttention.Want, in id: ConversationID) throws(LiveError) {
        guard self.session.isBound, self.token != nil else { throw .offline }
        // There is no answer, and nobody waits for an error.
        self.questionCount += 1
        self.write(SendLiveAttention(id, want), .question(self.questionCount))
    }
}
