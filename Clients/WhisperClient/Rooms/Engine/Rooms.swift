package import Contract

/// The commands of a user in rooms (contract §15).
extension WhisperClient {
    /// Creates a room, with us as host. A repetition creates no second room.
    @discardableResult
    package func createRoom(_ wish: RoomWish) async throws(LiveError) -> UUIDText {
        if let secret = wish.secret { try self.keptRoom { try $0.set(secret, of: wish.room) } }
        let frame = RoomCreate(wish, keys: self.keys.publicKeys)
        return try await self.enter(RoomEntry(secret: wish.secret, isReturning: false), frame)
    }

    /// Joins a room, and stays until the user leaves. Broken connections are restored.
    /// - Throws: `.notFound` for a code that opens nothing, and for a room that does not exist for us.
    @discardableResult
    package func joinRoom(by key: RoomKey) async throws(LiveError) -> UUIDText {
        var entry = RoomEntry(secret: nil, isReturning: false)
        let frame = RoomJoin(key, keys: self.keys.publicKeys)
        switch key {
        case .code: break
        case .link(let room, let secret):
            let known = try self.keptRoom { try $0.secret(of: room) }
            try self.keptRoom { try $0.set(secret, of: room) }
            entry.secret = secret
            do {
                return try await self.enter(entry, frame)
            } catch {
                // This link did not admit us. A code still may.
                if known == nil, case .notFound = error { try self.keptRoom { try $0.forget(room) } }
                throw error
            }
        case .seat(let room):
            entry.secret = try self.keptRoom { try $0.secret(of: room) }
            entry.isReturning = true
        }
        return try await self.enter(entry, frame)
    }

    /// The view of a joined room, for the user.
    package func room(_ id: UUIDText) -> RoomView? {
        guard let visit = self.visits[id], let room = visit.machine.shown else { return nil }
        let linked = room.participants.map(\.participant).filter { visit.machine.isLinked(to: $0) }
        return RoomView(
            room: room, own: visit.machine.own, code: visit.code, codeExpiresAt: visit.codeExpiresAt,
            secret: visit.secret?.secret.bytes, turn: visit.turn, linked: Set(linked))
    }

    /// All rooms in which we have a seat, whether this device has joined them or not.
    package func rooms() async throws(LiveError) -> [RoomState] {
        (try await self.ask(RoomList()) as? Rooms)?.rooms ?? []
    }

    /// Gives up the seat, after a `bye` to the connected participants.
    package func leaveRoom(_ id: UUIDText) async throws(LiveError) {
        if let actions = self.visits[id]?.machine.leave() { self.perform(actions, in: id) }
        try await self.ask(RoomLeave(id))
        try self.keptRoom { try $0.forget(id) }
    }

    /// Ends a room that we host, for all participants.
    package func closeRoom(_ id: UUIDText) async throws(LiveError) {
        try await self.ask(RoomClose(id))
        if let actions = self.visits[id]?.machine.leave() { self.perform(actions, in: id) }
        try self.keptRoom { try $0.forget(id) }
    }

    /// Draws a new code for a room that we host; with 0 seconds the room has none.
    @discardableResult
    package func renewCode(_ wish: RoomCodeWish, of id: UUIDText) async throws(LiveError) -> RoomCodeFrame? {
        let frame = try await self.ask(RenewRoomCode(wish, of: id)) as? RoomCodeFrame
        if let frame {
            self.visits[id]?.show(code: frame.code, until: frame.codeExpiresAt)
        }
        return frame
    }

    /// Wakes participants that are away.
    /// - Returns: how many participants are woken.
    package func pokeRoom(_ id: UUIDText) async throws(LiveError) -> Int {
        (try await self.ask(RoomPoke(id)) as? RoomPoked)?.woken ?? 0
    }

    /// Removes a participant from a room that we host.
    package func remove(_ participant: PrincipalID, from id: UUIDText) async throws(LiveError) {
        try await self.ask(RoomRemove(participant, from: id))
    }

    /// The WebRTC stack reports on connection `number` to a participant.
    package func report(_ report: LinkReport, of peer: PrincipalID, number: Int, in id: UUIDText) {
        guard let actions = self.visits[id]?.machine.heard(report, of: peer, number: number, at: .now) else { return }
        self.perform(actions, in: id)
        self.pump()
    }

    // MARK: Entering

    private static let again = Backoff(first: .milliseconds(500), longest: .seconds(15))

    /// Asks until the server has answered, `ClientLimits.attemptsMax` times at most.
    private func enter(_ entry: RoomEntry, _ frame: some ClientFrame) async throws(LiveError) -> UUIDText {
        var failures = 0
        while true {
            do throws(LiveError) {
                guard let joined = try await self.ask(frame, entering: entry) as? RoomJoined else { throw .noAnswer }
                return joined.room.room
            } catch {
                var wanted = Duration.zero
                switch error {
                case .offline, .noAnswer: break
                case .refused(.notFound, _): throw .notFound
                case .refused(.internalError, let after), .refused(.rateLimited, let after),
                    .refused(.notRegistered, let after):
                    wanted = after ?? .zero
                default: throw error
                }
                failures += 1
                guard failures < ClientLimits.attemptsMax else { throw error }
                let pause = max(wanted, Self.again.delay(after: failures, using: &self.random))
                do { try await Task.sleep(for: pause) } catch { throw .offline }
            }
        }
    }

    /// Called on each new connection, and when the room's state is in doubt.
    func rejoin(_ id: UUIDText) async {
        guard self.visits[id] != nil, self.token != nil else { return }
        do throws(LiveError) {
            try await self.ask(RoomJoin(.seat(id), keys: self.keys.publicKeys))
        } catch {
            var refusal: (code: ErrorCode?, after: Duration?) = (nil, nil)
            switch error {
            case .offline: return
            case .refused(let code, let after): refusal = (code, after)
            default: break
            }
            let actions = self.visits[id]?.machine.joinFailed(refusal.code, retryAfter: refusal.after, at: .now)
            self.perform(actions ?? [], in: id)
        }
    }

    // MARK: What the server says

    /// - Parameter entry: data of our request to create or join the room; `nil` for any other `room_joined`.
    func take(_ joined: RoomJoined, _ entry: RoomEntry?) {
        let id = joined.room.room
        if let entry, self.visits[id]?.machine.isOver == false {
            self.visits[id]?.entered(joined, with: self.secret(of: entry, joined))
        } else if let entry, let own = self.id {
            let seat = joined.room.participants.first { $0.participant == .identity(own) }
            // A join by code may be a return, too: an old seat shows that we were there before.
            let isReturning =
                entry.isReturning || seat.map { $0.joinedAt + RoomLimits.absenceMax < self.serverNow } ?? false
            var visit = RoomVisit(
                joined, own: .identity(own), secret: self.secret(of: entry, joined), isReturning: isReturning)
            _ = visit.machine.connected()
            self.visits[id] = visit
        }
        guard self.visits[id] != nil else { return }
        self.visits[id]?.show(code: joined.code, until: joined.codeExpiresAt)
        if let turn = joined.turn { self.visits[id]?.turn = turn }
        self.learn(joined.room)
        let actions = self.visits[id]?.machine.joined(joined.room, at: .now) ?? []
        self.perform(actions.filter { $0 != .changed }, in: id, showing: true)
    }

    /// Only this device knows how we joined. A join by code may find a seat that we have by link: there the server's
    /// word counts.
    private func secret(of entry: RoomEntry, _ joined: RoomJoined) -> RoomSecret? {
        let own = joined.room.participants.first { $0.participant == self.id.map { .identity($0) } }
        guard entry.secret == nil, own.map({ $0.via != .code }) ?? false else { return entry.secret }
        return try? self.roomStore.secret(of: joined.room.room)
    }

    func take(_ event: RoomEvent) {
        let id = event.room.room
        guard let before = self.visits[id]?.machine.shown?.revision, event.room.revision > before else { return }
        self.learn(event.room)
        self.publish(.room(id, .told(event.event, event.participant)))
        if event.room.host != self.visits[id]?.machine.own {
            self.visits[id]?.show(code: nil, until: nil)
        }
        // The first peer is connected once we have relays: `room_joined` contains them, and then updates the machine.
        let isOver = event.event == .closed || event.event == .removed
        if !isOver, self.visits[id]?.turn == nil, event.room.participants.count > 1 {
            self.liveTasks?.yield(.rejoin(id))
            return
        }
        let actions = self.visits[id]?.machine.changed(event.event, event.participant, event.room, at: .now)
        self.perform(actions ?? [], in: id)
    }

    private func learn(_ room: RoomState) {
        let before = self.visits[room.room]?.forged ?? []
        self.visits[room.room]?.learn(room)
        for peer in self.visits[room.room]?.forged.subtracting(before) ?? [] {
            self.publish(.room(room.room, .forged(peer)))
        }
    }

    func take(_ signal: RoomSignal) {
        let (id, sender) = (signal.room, signal.signal.from)
        guard let visit = self.visits[id], signal.to == visit.machine.own else { return }
        guard let keys = visit.keys(of: sender) else {
            // Unknown sender: the machine asks the server for the participants.
            let actions = self.visits[id]?.machine.received(
                SignalContent(signal.kind), from: sender, signal.signal.timestamp, serverTime: self.serverNow, at: .now)
            return self.perform(actions ?? [], in: id)
        }
        guard
            let content = keys.open(
                signal.signal, signal.kind, in: id, to: visit.machine.own, reader: self.keys.pair)
        else { return self.logger.debug("a signal did not open") }
        let actions = self.visits[id]?.machine.received(
            content, from: sender, signal.signal.timestamp, serverTime: self.serverNow, at: .now)
        self.perform(actions ?? [], in: id)
    }

    func perform(_ actions: [MeshMachine.Action], in id: UUIDText, showing: Bool = false) {
        if showing, let view = self.room(id) { self.publish(.room(id, .shown(view))) }
        for action in actions {
            switch action {
            case .join: self.liveTasks?.yield(.rejoin(id))
            case .signal(let kind, let peer, let content): self.signal(kind, content, to: peer, in: id)
            case .link(let peer, let number, let order): self.publish(.room(id, .link(peer, number: number, order)))
            case .changed: if let view = self.room(id) { self.publish(.room(id, .shown(view))) }
            case .over(let end):
                self.publish(.room(id, .over(end)))
                self.visits[id] = nil
                // Forget the secret: a closed room stays closed, and after leaving or a removal the user joins anew.
                guard end != .broken else { continue }
                do { try self.roomStore.forget(id) } catch { self.storeFailed(error) }
            }
        }
    }

    private func signal(_ kind: RoomSignalKind, _ content: SignalContent, to peer: PrincipalID, in id: UUIDText) {
        guard self.token != nil, let keys = self.visits[id]?.keys(of: peer), let own = self.visits[id]?.machine.own,
            let time = self.visits[id]?.nextSignalTime(self.serverNow),
            let signal = try? keys.seal(content, in: id, from: own, to: peer, at: time, signer: self.keys.pair)
        else { return }
        self.write(SendRoomSignal(kind, signal, to: peer, in: id), .room(id))
    }

    // MARK: The connection

    func roomsBound() {
        for id in self.visits.keys {
            self.visits[id]?.machine.disconnected()
            if let actions = self.visits[id]?.machine.connected() { self.perform(actions, in: id) }
        }
    }

    func roomsTick() {
        for id in self.visits.keys {
            if let actions = self.visits[id]?.machine.timerFired(at: .now) { self.perform(actions, in: id) }
        }
    }

    private func keptRoom<T>(_ body: (RoomStore) throws -> T) throws(LiveError) -> T {
        do { return try body(self.roomStore) } catch {
            throw .store(error as? ClientStoreError ?? .failed("\(error)"))
        }
    }
}

/// Data of a room for its first answer.
struct RoomEntry {
    var secret: RoomSecret?
    /// This identity already has a seat in the room.
    var isReturning: Bool
}

extension MeshMachine {
    var isOver: Bool { if case .over = self.state { true } else { false } }
}
