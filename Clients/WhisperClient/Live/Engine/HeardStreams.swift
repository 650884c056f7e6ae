package import Contract

/// A conversation of another identity, while our user listens.
private struct Listening {
    let link: LinkKeys
    let name: String
    let passcode: String?
    let note: String?
    let publicKeys: PublicKeys
    var heard: HeardConversation
    var machine: ListeningMachine
    var ears: ListenerMachine
    var keys: PacketKeys
    /// Answers to questions up to this one belong to an earlier visit. They may arrive after the user left and listens
    /// again.
    let askedBefore: UInt64
    /// The stream, as the server last described it.
    var stream = ListenerMachine.Stream.State.idle
    var isTranscribed = false
    var lines = HeardLines()
    /// The whisperer's note at the end.
    var lastWord: String?

    mutating func disconnected() {
        self.machine.disconnected()
        self.ears.disconnected()
    }

    mutating func keep(_ action: ListenerMachine.Action) {
        switch action {
        case .began: self.lines = HeardLines()
        case .line(let number, let text): self.lines.add(number, text)
        default: break
        }
    }

    var view: LiveView {
        let state: LiveView.State =
            switch self.machine.state {
            case .away, .asking: .joining
            case .waiting: .waiting
            case .joined: .joined(self.stream)
            case .over(let end): .over(end, note: self.lastWord)
            }
        return LiveView(
            state: state, content: self.ears.content, isTranscribed: self.isTranscribed, text: self.ears.text,
            lines: self.lines.lines, waiting: [])
    }
}

/// Conversations of others, while the user listens: the commands of a listener, and what the server reports.
package final class HeardStreams {
    private let keys: IdentityKeys
    private let store: LiveStore
    private var listening: [ConversationID: Listening] = [:]

    init(keys: IdentityKeys, store: LiveStore) {
        self.keys = keys
        self.store = store
    }

    /// Begins to listen, now or once the connection is bound.
    /// - Parameters:
    ///   - look: the result of `look(at:)`, which the user has agreed to.
    ///   - name: the name that the whisperer sees.
    package func listen(
        to link: ListenLink, _ look: ConversationLook, name: String, passcode: String?, note: String?,
        _ host: isolated some LiveHost
    ) throws(LiveError) {
        guard let own = host.id else { throw .offline }
        let id = link.conversation
        let before = try self.store.kept {
            try $0.heard().first { $0.link.conversation == id }
        }
        let heard = HeardConversation(
            link: link, title: look.info.conversation, whisperer: look.info.whisperer,
            generation: before?.generation ?? 0, listenedAt: host.serverNow)
        try self.store.kept { try $0.set(heard, at: host.serverNow) }
        host.profileKeeper.changed(host)
        self.listening[id] = Listening(
            link: LinkKeys(secret: link.secret), name: name, passcode: passcode, note: note,
            publicKeys: look.publicKeys, heard: heard, machine: ListeningMachine(isAdmitted: heard.generation > 0),
            ears: ListenerMachine(listener: .identity(own)),
            keys: PacketKeys(conversation: id, publicKeys: look.publicKeys), askedBefore: host.nextQuestion())
        guard host.isOnline, let step = self.listening[id]?.machine.connected() else { return }
        host.begin { await $0.heard.listen(id, step, $0) }
    }

    /// Leaves the conversation. An admitted listener may rejoin without a knock.
    package func stop(to id: ConversationID, _ host: isolated some LiveHost) async throws(LiveError) {
        guard self.listening.removeValue(forKey: id) != nil, host.token != nil else { return }
        try await host.ask(LiveLeave(id))
    }

    package func isListening(to id: ConversationID) -> Bool { self.listening[id] != nil }

    /// - Returns: `nil` if the user does not listen there.
    package func view(of id: ConversationID) -> LiveView? { self.listening[id]?.view }

    func state(of id: ConversationID) -> ListeningMachine.State? { self.listening[id]?.machine.state }

    /// Whether the user listens and the listening is not over. Once it is over, the user may try again.
    package func isStillListening(to id: ConversationID) -> Bool {
        switch self.state(of: id) {
        case nil, .over: false
        default: true
        }
    }

    /// Sends a listener's request for attention to the whisperer. The frame may be lost.
    package func raise(
        _ want: LiveAttention.Want, in id: ConversationID, _ host: isolated some LiveHost
    ) throws(LiveError) {
        guard host.isOnline, host.token != nil else { throw .offline }
        // The frame has no answer, and the caller does not wait for an error.
        host.write(SendLiveAttention(id, want), .question(host.nextQuestion()))
    }

    // MARK: Tasks

    /// Joins or knocks, until the server has answered.
    func listen(_ id: ConversationID, _ first: ListeningMachine.Step, _ host: isolated some LiveHost) async {
        var step = first
        let visit = self.listening[id]?.askedBefore
        while !Task.isCancelled, self.listening[id]?.machine.state == .asking(step), host.token != nil {
            do throws(LiveError) {
                switch step {
                case .join:
                    let after = self.listening[id]?.ears.joining()
                    try await host.ask(LiveJoin(id, after: after))
                    return
                case .knock: return try await self.knock(id, host)
                }
            } catch {
                // If the user left and listens again, the new visit asks for itself.
                guard error != .offline, self.listening[id]?.askedBefore == visit else { return }
                var refusal: (code: ErrorCode?, after: Duration?) = (nil, nil)
                if case .refused(let code, let after) = error { refusal = (code, after) }
                let next = self.listening[id]?.machine.failed(
                    step, refusal.code, retryAfter: refusal.after, at: .now)
                guard let next else { return self.tellIfOver(id, host) }
                step = next.0
                try? await Task.sleep(for: next.after)
            }
        }
    }

    private func knock(_ id: ConversationID, _ host: isolated some LiveHost) async throws(LiveError) {
        guard let listening = self.listening[id], let own = host.id else { throw .offline }
        let now = host.serverNow
        let profile = ProfileKeys(secret: try self.store.kept { try $0.profile().secret })
        let note = KnockNote(
            name: listening.name, passcode: listening.passcode, note: listening.note, by: .identity(own), on: id,
            at: now, link: listening.link
        ).naming(profile, of: .identity(own), on: id)
        let knock: LiveSigned
        do {
            knock = try note.sealed(
                for: id, keys: listening.publicKeys, from: .identity(own), at: now, signer: self.keys.pair)
        } catch {
            throw .forged
        }
        try await host.ask(
            LiveKnock(id, link: listening.link, keys: self.keys.publicKeys, knock: knock))
    }

    /// - Parameter note: the whisperer's note.
    private func tellIfOver(_ id: ConversationID, note: String? = nil, _ host: isolated some LiveHost) {
        guard case .over(let end)? = self.listening[id]?.machine.state else { return }
        self.listening[id]?.ears.disconnected()
        self.listening[id]?.lastWord = note
        host.publish(.over(end, note: note), of: id)
    }

    // MARK: Frames of the server

    /// - Returns: whether the frame is for listeners. Frames of unknown conversations change nothing.
    func take(_ frame: (any ServerFrame)?, answering number: UInt64?, _ host: isolated some LiveHost) -> Bool {
        switch frame {
        case let admitted as LiveAdmitted: self.take(admitted, host)
        case let waiting as LiveWaiting: self.take(waiting, host)
        case let refused as LiveRefused: self.take(refused, host)
        case let joined as LiveJoined: self.take(joined, answering: number, host)
        case let state as LiveState: self.take(state, host)
        case let packet as LivePacket: self.take(packet, host)
        default: return false
        }
        return true
    }

    /// `live_resync` was refused.
    func resyncRefused(of id: ConversationID, retryAfter: Duration?) {
        self.listening[id]?.ears.refused(retryAfter: retryAfter, at: .now)
    }

    private func take(_ waiting: LiveWaiting, _ host: isolated some LiveHost) {
        guard self.listening[waiting.conversation]?.machine.waiting(at: .now) == true else { return }
        host.publish(.waiting, of: waiting.conversation)
    }

    private func take(_ admitted: LiveAdmitted, _ host: isolated some LiveHost) {
        let id = admitted.conversation
        guard self.takeKey(admitted.grant, generation: admitted.generation, of: id, host),
            let step = self.listening[id]?.machine.admitted()
        else { return }
        host.begin { await $0.heard.listen(id, step, $0) }
    }

    /// - Returns: whether the whisperer gave us this key.
    private func takeKey(
        _ grant: LiveSigned, generation: Int, of id: ConversationID, _ host: isolated some LiveHost
    ) -> Bool {
        guard let listening = self.listening[id], let own = host.id, generation >= listening.heard.generation,
            let bytes = grant.opened(
                as: .grant(to: .identity(own)), of: id, signedBy: listening.publicKeys, reader: self.keys.pair),
            let key = GrantNote.contentKey(bytes, generation: generation)
        else { return false }
        self.listening[id]?.keys.add(key)
        if generation > listening.heard.generation {
            self.listening[id]?.heard.generation = generation
            let heard = self.listening[id]?.heard
            if let heard, host.withStore({ try self.store.set(heard, at: host.serverNow) }) == nil { return false }
        }
        if let actions = self.listening[id]?.ears.keyArrived(generation: generation, at: .now) {
            self.perform(actions, of: id, host)
        }
        return true
    }

    private func take(_ refused: LiveRefused, _ host: isolated some LiveHost) {
        let id = refused.conversation
        guard let listening = self.listening[id], let own = host.id else { return }
        var note: String?
        if let refusal = refused.refusal {
            note = refusal.opened(
                as: .refuse(to: .identity(own)), of: id, signedBy: listening.publicKeys, reader: self.keys.pair
            ).flatMap { RefusalNote($0)?.note }
        }
        // The server may repeat the notice.
        if case .over = listening.machine.state { return }
        self.listening[id]?.machine.refused(refused.reason)
        self.tellIfOver(id, note: note, host)
    }

    private func take(_ joined: LiveJoined, answering number: UInt64?, _ host: isolated some LiveHost) {
        let id = joined.conversation
        guard let listening = self.listening[id], number.map({ $0 > listening.askedBefore }) ?? true else { return }
        if let grant = joined.grant, let signed = grant.signed {
            _ = self.takeKey(signed, generation: grant.generation, of: id, host)
        }
        let isNews = self.listening[id]?.machine.joined() == true
        let stream = ListenerMachine.Stream(Self.state(joined.state), content: joined.content, epoch: joined.epoch)
        self.listening[id]?.stream = stream.state
        self.listening[id]?.isTranscribed = joined.isTranscribed
        let actions = self.listening[id]?.ears.joined(stream, seq: joined.seq, line: joined.line ?? 0, at: .now)
        if isNews { host.publish(.joined(joined.state, isTranscribed: joined.isTranscribed), of: id) }
        self.perform(actions ?? [], of: id, host)
    }

    private static func state(_ state: LiveStreamState) -> ListenerMachine.Stream.State {
        switch state {
        case .idle: .idle
        case .live: .live
        case .paused: .paused
        }
    }

    private func take(_ state: LiveState, _ host: isolated some LiveHost) {
        let id = state.conversation
        guard self.listening[id] != nil else { return }
        let now: ListenerMachine.Stream.State =
            switch state.state {
            case .live: .live
            case .paused: .paused
            case .ended: .ended
            }
        let stream = ListenerMachine.Stream(now, content: state.content, epoch: state.epoch)
        self.listening[id]?.stream = now
        self.listening[id]?.isTranscribed = state.isTranscribed
        let actions = self.listening[id]?.ears.changed(stream, at: .now)
        host.publish(.state(state.state), of: id)
        self.perform(actions ?? [], of: id, host)
    }

    private func take(_ packet: LivePacket, _ host: isolated some LiveHost) {
        let id = packet.header.conversation
        guard let listening = self.listening[id], let content = listening.ears.content else { return }
        let opened = listening.keys.open(
            SealedBytes(nonce: packet.nonce, ciphertext: packet.ciphertext), as: packet.header, content: content)
        let actions = self.listening[id]?.ears.received(packet.header, opened, at: .now)
        self.perform(actions ?? [], of: id, host)
    }

    private func perform(_ actions: [ListenerMachine.Action], of id: ConversationID, _ host: isolated some LiveHost) {
        for action in actions {
            switch action {
            case .resync(let position, let line):
                guard host.token != nil else { continue }
                host.write(LiveResync(id, behind: position, line: line), .resync(id))
            case .join:
                guard let step = self.listening[id]?.machine.keyIsMissing() else { continue }
                host.begin { await $0.heard.listen(id, step, $0) }
            case .began, .text, .line, .missing, .cue:
                self.listening[id]?.keep(action)
                host.publish(.heard(action), of: id)
            }
        }
    }

    // MARK: The connection

    /// The connection is bound to the session: listeners rejoin.
    func bound(_ host: isolated some LiveHost) {
        for id in self.listening.keys {
            self.listening[id]?.disconnected()
            if let step = self.listening[id]?.machine.connected() {
                host.begin { await $0.heard.listen(id, step, $0) }
            }
        }
    }

    func disconnected() {
        for id in self.listening.keys { self.listening[id]?.disconnected() }
    }

    func tick(_ host: isolated some LiveHost) {
        for id in self.listening.keys {
            if let actions = self.listening[id]?.ears.timerFired(at: .now) { self.perform(actions, of: id, host) }
            if let step = self.listening[id]?.machine.timerFired(at: .now) {
                host.begin { await $0.heard.listen(id, step, $0) }
            }
        }
    }

    var nextWake: ContinuousClock.Instant? {
        self.listening.values.flatMap { [$0.ears.nextWake, $0.machine.nextWake] }.compactMap { $0 }.min()
    }
}
