import Contract

/// Work on a live conversation that needs questions to the server. It ends with the connection.
enum LiveTask: Sendable {
    /// Take the stream, or resume it.
    case start(ConversationID)
    /// Send the grants that are due.
    case grant(ConversationID)
    case refuse(ConversationID, AdmissionDesk.Caller, LiveRefuse.Reason)
    /// Query the stream's holder: our packets are refused.
    case findHolder(ConversationID)
    case listen(ConversationID, ListeningMachine.Step)
    case rejoin(UUIDText)
}

/// Connects live conversations to the client's connection.
extension WhisperClient {
    /// Runs the tasks concurrently, until the connection ends.
    func performLiveTasks(_ tasks: AsyncStream<LiveTask>) async {
        await withDiscardingTaskGroup { group in
            for await task in tasks { group.addTask { await self.perform(task) } }
            group.cancelAll()
        }
    }

    private func perform(_ task: LiveTask) async {
        switch task {
        case .start(let id): await self.start(id)
        case .grant(let id): await self.sendGrants(of: id)
        case .refuse(let id, let caller, let reason): await self.refuse(caller, reason, in: id)
        case .findHolder(let id): await self.findHolder(of: id)
        case .listen(let id, let step): await self.listen(id, step)
        case .rejoin(let id): await self.rejoin(id)
        }
        self.pump()
    }

    /// The connection is bound to the session: streams are resumed, and listeners rejoin.
    func liveBound() {
        for id in self.whispering.keys {
            self.whispering[id]?.machine.stopped()
            self.liveTasks?.yield(.start(id))
        }
        for id in self.listening.keys {
            self.listening[id]?.disconnected()
            if let step = self.listening[id]?.machine.connected() { self.liveTasks?.yield(.listen(id, step)) }
        }
        self.roomsBound()
    }

    func liveDisconnected() {
        self.failQuestions()
        for id in self.whispering.keys {
            self.whispering[id]?.machine.stopped()
            self.whispering[id]?.epoch = nil
        }
        for id in self.listening.keys { self.listening[id]?.disconnected() }
        for id in self.visits.keys { self.visits[id]?.machine.disconnected() }
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
        case let joined as RoomJoined: self.take(joined, number.flatMap { self.entries[$0] })
        case let event as RoomEvent: self.take(event)
        case let left as RoomLeft where number == nil: self.visits[left.room]?.machine.seatIsGone(at: .now)
        case let signal as RoomSignal: self.take(signal)
        default: break
        }
        if let number { self.answered(number, .success(frame)) }
    }

    func liveRefused(_ tag: RequestTag?, _ code: ErrorCode?, retryAfter: Duration?) {
        switch tag {
        case .question(let number): self.answered(number, .failure(.refused(code, retryAfter: retryAfter)))
        case .packet(let id, let position):
            guard self.whispering[id]?.epoch == position.epoch else { return }
            self.whispering[id]?.machine.refused(seq: position.seq, retryAfter: retryAfter, at: .now)
            if code == .forbidden { self.doubtHolding(of: id) }
        case .room(let id): self.visits[id]?.machine.signalRefused(code, at: .now)
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
            + self.listening.values.map(\.machine.nextWake) + self.visits.values.map(\.machine.nextWake))
            .compactMap { $0 }.min()
    }

    func liveTick() {
        for id in self.listening.keys {
            if let actions = self.listening[id]?.ears.timerFired(at: .now) { self.perform(actions, of: id) }
            if let step = self.listening[id]?.machine.timerFired(at: .now) { self.liveTasks?.yield(.listen(id, step)) }
        }
        self.roomsTick()
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
