package import Contract

/// A conversation of another identity, while our user listens.
struct Listening {
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

    mutating func disconnected() {
        self.machine.disconnected()
        self.ears.disconnected()
    }
}

/// The commands of a listener.
extension WhisperClient {
    /// Fetches the info of a link's conversation. Needs no connection.
    package func look(at link: ListenLink) async throws(LiveError) -> ConversationLook {
        let keys = LinkKeys(secret: link.secret)
        let answer: HTTPAnswer
        do {
            answer = try await self.server.post(
                ConversationLook.path(link.conversation), ConversationLook.body(keys), bearer: nil)
        } catch {
            throw .unreachable(error)
        }
        switch answer.status {
        case 200:
            guard let look = ConversationLook(answer.body, of: link.conversation, link: keys) else { throw .forged }
            return look
        case 404: throw .notFound
        default: throw .server(status: answer.status)
        }
    }

    /// Conversations that the user has listened to, the most recent first.
    package func heard() throws(ClientStoreError) -> [HeardConversation] { try self.live.heard() }

    /// Begins to listen, now or once the connection is bound.
    /// - Parameters:
    ///   - look: the result of `look(at:)`, which the user has agreed to.
    ///   - name: the name that the whisperer sees.
    package func listen(
        to link: ListenLink, _ look: ConversationLook, name: String, passcode: String?, note: String?
    ) throws(LiveError) {
        guard let own = self.id else { throw .offline }
        let id = link.conversation
        let before = try self.kept {
            try $0.heard().first { $0.link.conversation == id }
        }
        let heard = HeardConversation(
            link: link, title: look.info.conversation, whisperer: look.info.whisperer,
            generation: before?.generation ?? 0, listenedAt: self.serverNow)
        try self.kept { try $0.set(heard) }
        self.listening[id] = Listening(
            link: LinkKeys(secret: link.secret), name: name, passcode: passcode, note: note,
            publicKeys: look.publicKeys, heard: heard, machine: ListeningMachine(isAdmitted: heard.generation > 0),
            ears: ListenerMachine(listener: .identity(own)),
            keys: PacketKeys(conversation: id, publicKeys: look.publicKeys), askedBefore: self.nextQuestion())
        guard self.session.isBound, let step = self.listening[id]?.machine.connected() else { return }
        self.begin { await $0.listen(id, step) }
    }

    /// Leaves the conversation. An admitted listener may rejoin without a knock.
    package func stopListening(to id: ConversationID) async throws(LiveError) {
        guard self.listening.removeValue(forKey: id) != nil, self.token != nil else { return }
        try await self.ask(LiveLeave(id))
    }

    // MARK: Tasks

    /// Joins or knocks, until the server has answered.
    func listen(_ id: ConversationID, _ first: ListeningMachine.Step) async {
        var step = first
        let visit = self.listening[id]?.askedBefore
        while !Task.isCancelled, self.listening[id]?.machine.state == .asking(step), self.token != nil {
            do throws(LiveError) {
                switch step {
                case .join:
                    let after = self.listening[id]?.ears.joining()
                    try await self.ask(LiveJoin(id, after: after))
                    return
                case .knock: return try await self.knock(id)
                }
            } catch {
                // If the user left and listens again, the new visit asks for itself.
                guard error != .offline, self.listening[id]?.askedBefore == visit else { return }
                var refusal: (code: ErrorCode?, after: Duration?) = (nil, nil)
                if case .refused(let code, let after) = error { refusal = (code, after) }
                let next = self.listening[id]?.machine.failed(
                    step, refusal.code, retryAfter: refusal.after, at: .now)
                guard let next else { return self.tellIfOver(id) }
                step = next.0
                try? await Task.sleep(for: next.after)
            }
        }
    }

    private func knock(_ id: ConversationID) async throws(LiveError) {
        guard let listening = self.listening[id], let own = self.id else { throw .offline }
        let now = self.serverNow
        let note = KnockNote(
            name: listening.name, passcode: listening.passcode, note: listening.note, by: .identity(own), on: id,
            at: now, link: listening.link)
        let knock: LiveSigned
        do {
            knock = try note.sealed(
                for: id, keys: listening.publicKeys, from: .identity(own), at: now, signer: self.keys.pair)
        } catch {
            throw .forged
        }
        try await self.ask(
            LiveKnock(id, link: listening.link, keys: self.keys.publicKeys, knock: knock))
    }

    /// - Parameter note: the whisperer's note.
    private func tellIfOver(_ id: ConversationID, note: String? = nil) {
        guard case .over(let end)? = self.listening[id]?.machine.state else { return }
        self.listening[id]?.ears.disconnected()
        self.publish(.over(end, note: note), of: id)
    }

    // MARK: What the server says

    func take(_ waiting: LiveWaiting) {
        guard self.listening[waiting.conversation]?.machine.waiting(at: .now) == true else { return }
        self.publish(.waiting, of: waiting.conversation)
    }

    func take(_ admitted: LiveAdmitted) {
        let id = admitted.conversation
        guard self.takeKey(admitted.grant, generation: admitted.generation, of: id),
            let step = self.listening[id]?.machine.admitted()
        else { return }
        self.begin { await $0.listen(id, step) }
    }

    /// - Returns: whether the whisperer gave us this key.
    private func takeKey(_ grant: LiveSigned, generation: Int, of id: ConversationID) -> Bool {
        guard let listening = self.listening[id], let own = self.id, generation >= listening.heard.generation,
            let bytes = grant.opened(
                as: .grant(to: .identity(own)), of: id, signedBy: listening.publicKeys, reader: self.keys.pair),
            let key = GrantNote.contentKey(bytes, generation: generation)
        else { return false }
        self.listening[id]?.keys.add(key)
        if generation > listening.heard.generation {
            self.listening[id]?.heard.generation = generation
            do {
                if let heard = self.listening[id]?.heard { try self.live.set(heard) }
            } catch {
                self.storeFailed(error)
                return false
            }
        }
        if let actions = self.listening[id]?.ears.keyArrived(generation: generation, at: .now) {
            self.perform(actions, of: id)
        }
        return true
    }

    func take(_ refused: LiveRefused) {
        let id = refused.conversation
        guard let listening = self.listening[id], let own = self.id else { return }
        var note: String?
        if let refusal = refused.refusal {
            note = refusal.opened(
                as: .refuse(to: .identity(own)), of: id, signedBy: listening.publicKeys, reader: self.keys.pair
            ).flatMap { RefusalNote($0)?.note }
        }
        // The server may repeat the notice.
        if case .over = listening.machine.state { return }
        self.listening[id]?.machine.refused(refused.reason)
        self.tellIfOver(id, note: note)
    }

    func take(_ joined: LiveJoined, answering number: UInt64?) {
        let id = joined.conversation
        guard let listening = self.listening[id], number.map({ $0 > listening.askedBefore }) ?? true else { return }
        if let grant = joined.grant, let signed = grant.signed {
            _ = self.takeKey(signed, generation: grant.generation, of: id)
        }
        let isNews = self.listening[id]?.machine.joined() == true
        let stream = ListenerMachine.Stream(Self.state(joined.state), content: joined.content, epoch: joined.epoch)
        let actions = self.listening[id]?.ears.joined(stream, seq: joined.seq, line: joined.line ?? 0, at: .now)
        if isNews { self.publish(.joined(joined.state, isTranscribed: joined.isTranscribed), of: id) }
        self.perform(actions ?? [], of: id)
    }

    private static func state(_ state: LiveStreamState) -> ListenerMachine.Stream.State {
        switch state {
        case .idle: .idle
        case .live: .live
        case .paused: .paused
        }
    }

    func take(_ state: LiveState) {
        let id = state.conversation
        guard self.listening[id] != nil else { return }
        let now: ListenerMachine.Stream.State =
            switch state.state {
            case .live: .live
            case .paused: .paused
            case .ended: .ended
            }
        let stream = ListenerMachine.Stream(now, content: state.content, epoch: state.epoch)
        let actions = self.listening[id]?.ears.changed(stream, at: .now)
        self.publish(.state(state.state), of: id)
        self.perform(actions ?? [], of: id)
    }

    func take(_ packet: LivePacket) {
        let id = packet.header.conversation
        guard let listening = self.listening[id], let content = listening.ears.content else { return }
        let opened = listening.keys.open(
            SealedBytes(nonce: packet.nonce, ciphertext: packet.ciphertext), as: packet.header, content: content)
        let actions = self.listening[id]?.ears.received(packet.header, opened, at: .now)
        self.perform(actions ?? [], of: id)
    }

    func perform(_ actions: [ListenerMachine.Action], of id: ConversationID) {
        for action in actions {
            switch action {
            case .resync(let position, let line):
                guard self.token != nil else { continue }
                self.write(LiveResync(id, behind: position, line: line), .resync(id))
            case .join:
                guard let step = self.listening[id]?.machine.keyIsMissing() else { continue }
                self.begin { await $0.listen(id, step) }
            case .began, .text, .line, .missing, .cue: self.publish(.heard(action), of: id)
            }
        }
    }
}
