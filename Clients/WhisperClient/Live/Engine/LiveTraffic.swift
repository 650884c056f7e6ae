import Contract

/// Connects live conversations to the client's connection.
extension WhisperClient {
    /// The connection is bound to the session: streams are resumed, and listeners rejoin.
    func liveBound() {
        for id in self.whispering.keys {
            self.whispering[id]?.machine.stopped()
            self.begin { await $0.start(id) }
        }
        for id in self.listening.keys {
            self.listening[id]?.disconnected()
            if let step = self.listening[id]?.machine.connected() { self.begin { await $0.listen(id, step) } }
        }
        self.rooms.bound(self)
    }

    func liveDisconnected() {
        self.questions.fail()
        for id in self.whispering.keys {
            self.whispering[id]?.machine.stopped()
            self.whispering[id]?.epoch = nil
        }
        for id in self.listening.keys { self.listening[id]?.disconnected() }
        self.rooms.disconnected()
    }

    /// Frames about live conversations. Frames of unknown conversations change nothing.
    func take(live frame: (any ServerFrame)?, answering number: UInt64?) {
        switch frame {
        case let started as LiveStarted: self.take(started)
        case let knocked as LiveKnocked:
            self.take(
                AdmissionDesk.Knock(
                    listener: knocked.listener,
                    keys: PublicKeys(sign: knocked.signPublicKey, box: knocked.encPublicKey), sealed: knocked.knock),
                in: knocked.conversation)
        case let granted as LiveGranted: self.take(granted)
        case let listener as LiveListenerChanged: self.take(listener)
        case let roster as LiveRoster: self.take(roster)
        case let wanted as LiveWanted: self.take(wanted)
        case let stopped as LiveStopped: self.take(stopped)
        case let conversation as LiveConversation: self.take(conversation)
        case let stored as LiveLineStored: self.whispering[stored.conversation]?.machine.stored(stored.told)
        case let attention as LiveAttention: self.take(attention)
        case let admitted as LiveAdmitted: self.take(admitted)
        case let waiting as LiveWaiting: self.take(waiting)
        case let refused as LiveRefused: self.take(refused)
        case let joined as LiveJoined: self.take(joined, answering: number)
        case let state as LiveState: self.take(state)
        case let packet as LivePacket: self.take(packet)
        default: self.rooms.take(frame, answering: number, self)
        }
        if let number { self.questions.answered(number, .success(frame)) }
    }

    func liveRefused(_ tag: RequestTag?, _ code: ErrorCode?, retryAfter: Duration?) {
        switch tag {
        case .question(let number): self.questions.answered(number, .failure(.refused(code, retryAfter: retryAfter)))
        case .packet(let id, let position):
            guard self.whispering[id]?.epoch == position.epoch else { return }
            self.whispering[id]?.machine.refused(seq: position.seq, retryAfter: retryAfter, at: .now)
            if code == .forbidden { self.doubtHolding(of: id) }
        case .room(let id): self.rooms.signalRefused(in: id, code)
        case .resync(let id): self.listening[id]?.ears.refused(retryAfter: retryAfter, at: .now)
        default: break
        }
    }

    // MARK: Time

    var liveWake: ContinuousClock.Instant? {
        guard self.session.isBound else { return nil }
        let now = ContinuousClock.now
        return
            (self.whispering.values.map { $0.machine.nextWake(at: now) } + self.listening.values.map(\.ears.nextWake)
            + self.listening.values.map(\.machine.nextWake) + [self.rooms.nextWake])
            .compactMap { $0 }.min()
    }

    func liveTick() {
        for id in self.listening.keys {
            if let actions = self.listening[id]?.ears.timerFired(at: .now) { self.perform(actions, of: id) }
            if let step = self.listening[id]?.machine.timerFired(at: .now) { self.begin { await $0.listen(id, step) } }
        }
        self.rooms.tick(self)
    }

    /// Writes the packets that are due.
    func pumpLive() {
        guard self.session.isBound, self.token != nil else { return }
        for id in self.whispering.keys { self.pumpPackets(of: id) }
    }

    func publish(_ news: LiveNews, of id: ConversationID) { self.publish(.live(id, news)) }

    func kept<T>(_ body: (LiveStore) throws -> T) throws(LiveError) -> T {
        do { return try body(self.live) } catch { throw .store(error as? ClientStoreError ?? .failed("\(error)")) }
    }
}
