package import Contract

/// A whisperer's lines and cues beside the unfinished line, and a listener's signs to the whisperer (contract §14.8,
/// §14.9).
extension WhisperClient {
    package func isWhispering(in id: ConversationID) -> Bool { self.whispering[id] != nil }

    package func isListening(to id: ConversationID) -> Bool { self.listening[id] != nil }

    /// Whether the user listens and the listening is not over. Once it is over, the user may try again.
    package func isStillListening(to id: ConversationID) -> Bool {
        switch self.listening[id]?.machine.state {
        case nil, .over: false
        default: true
        }
    }

    /// Returns when all typed text is written to the connection, or the time is over.
    package func lastWords(in id: ConversationID, within most: Duration) async {
        let deadline = ContinuousClock.now + most
        while !self.hasSentAll(of: id), ContinuousClock.now < deadline {
            do { try await Task.sleep(for: Self.patience) } catch { return }
        }
    }

    /// The interval between two checks whether everything was sent.
    private static var patience: Duration { .milliseconds(20) }

    /// Sends completed lines in between. The unfinished line stays.
    /// - Throws: `Full` if too much waits already; then no input was accepted.
    package func interject(_ text: String, in id: ConversationID) throws(WhispererMachine.Full) {
        try self.whispering[id]?.machine.interject(text)
        self.pump()
    }

    /// - Parameter listener: the receiver of the cue; `nil`: all listeners.
    /// - Throws: `Full` if too much waits already; then no input was accepted.
    package func play(_ cue: LiveCue, to listener: PrincipalID?, in id: ConversationID) throws(WhispererMachine.Full) {
        try self.whispering[id]?.machine.play(cue, to: listener)
        self.pump()
    }

    /// Sends a listener's request for attention to the whisperer. The frame may be lost.
    package func raise(_ want: LiveAttention.Want, in id: ConversationID) throws(LiveError) {
        guard self.session.isBound, self.token != nil else { throw .offline }
        // The frame has no answer, and the caller does not wait for an error.
        self.write(SendLiveAttention(id, want), .question(self.nextQuestion()))
    }
}
