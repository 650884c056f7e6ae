package import Contract
import Logging

/// Rooms that our user is in: the commands of a user, and what the server reports (contract §15).
package final class RoomVisits {
    private let keys: IdentityKeys
    private let store: RoomStore
    private let logger: Logger
    private var visits: [UUIDText: RoomVisit] = [:]
    /// Rooms that are being entered, by the question.
    private var entries: [UInt64: RoomEntry] = [:]
    private var random = SystemRandomNumberGenerator()
    /// Our life, for others in rooms.
    private let epoch = Sodium.random(TalkLimits.epochBytes)
    /// By which others in rooms see us. It is not stored.
    private var name: String?

    init(keys: IdentityKeys, store: ClientStore, logger: Logger) {
        self.keys = keys
        self.store = RoomStore(store, keys: keys)
        self.logger = logger
    }

    /// Creates a room, with us as host. A repetition creates no second room.
    @discardableResult
    package func create(_ wish: RoomWish, _ host: isolated some RoomHost) async throws(LiveError) -> UUIDText {
        if let secret = wish.secret { try self.kept { try $0.set(secret, of: wish.room) } }
        let frame = RoomCreate(wish, keys: self.keys.publicKeys)
        return try await self.enter(RoomEntry(secret: wish.secret, isReturning: false), frame, host)
    }

    /// Joins a room, and stays until the user leaves. Broken connections are restored.
    /// - Throws: `.notFound` for a code that opens nothing, and for a room that does not exist for us.
    @discardableResult
    package func join(by key: RoomKey, _ host: isolated some RoomHost) async throws(LiveError) -> UUIDText {
        var entry = RoomEntry(secret: nil, isReturning: false)
        let frame = RoomJoin(key, keys: self.keys.publicKeys)
        switch key {
        case .code: break
        case .link(let room, let secret):
            let known = try self.kept { try $0.secret(of: room) }
            try self.kept { try $0.set(secret, of: room) }
            entry.secret = secret
            do {
                return try await self.enter(entry, frame, host)
            } catch {
                // This link did not admit us. A code still may.
                if known == nil, case .notFound = error { try self.kept { try $0.forget(room) } }
                throw error
            }
        case .seat(let room):
            entry.secret = try self.kept { try $0.secret(of: room) }
            entry.isReturning = true
        }
        return try await self.enter(entry, frame, host)
    }

    /// A room that we are in, for the user.
    package subscript(id: UUIDText) -> RoomView? {
        guard let visit = self.visits[id], let room = visit.machine.shown else { return nil }
        let linked = room.participants.map(\.participant).filter { visit.machine.isLinked(to: $0) }
        let others = room.participants.map(\.participant).filter { $0 != visit.machine.own }
        let links = others.map { ($0, visit.machine.link(to: $0)) }
        let names = others.compactMap { one in visit.talk.person(one)?.name.map { (one, $0) } }
        return RoomView(
            room: room, own: visit.machine.own, code: visit.code, codeExpiresAt: visit.codeExpiresAt,
            secret: visit.secret?.secret.bytes, turn: visit.turn, linked: Set(linked),
            links: Dictionary(links, uniquingKeysWith: { first, _ in first }),
            names: Dictionary(names, uniquingKeysWith: { first, _ in first }))
    }

    /// All rooms in which we have a seat, whether this device has joined them or not.
    package func list(_ host: isolated some RoomHost) async throws(LiveError) -> [RoomState] {
        (try await host.ask(RoomList()) as? Rooms)?.rooms ?? []
    }

    /// Gives up the seat, after a `bye` to the connected participants.
    package func leave(_ id: UUIDText, _ host: isolated some RoomHost) async throws(LiveError) {
        self.perform(self.visits[id]?.talk.leave() ?? [], in: id, host)
        if let actions = self.visits[id]?.machine.leave() { self.perform(actions, in: id, host) }
        try await host.ask(RoomLeave(id))
        try self.kept { try $0.forget(id) }
    }

    /// Ends a room that we host, for all participants.
    package func close(_ id: UUIDText, _ host: isolated some RoomHost) async throws(LiveError) {
        try await host.ask(RoomClose(id))
        if let actions = self.visits[id]?.machine.leave() { self.perform(actions, in: id, host) }
        try self.kept { try $0.forget(id) }
    }

    /// Draws a new code for a room that we host; with 0 seconds the room has none.
    @discardableResult
    package func renewCode(
        _ wish: RoomCodeWish, of id: UUIDText, _ host: isolated some RoomHost
    ) async throws(LiveError) -> RoomCodeFrame? {
        let frame = try await host.ask(RenewRoomCode(wish, of: id)) as? RoomCodeFrame
        if let frame {
            self.visits[id]?.show(code: frame.code, until: frame.codeExpiresAt)
        }
        return frame
    }

    /// Wakes participants that are away.
    /// - Returns: how many participants are woken.
    package func poke(_ id: UUIDText, _ host: isolated some RoomHost) async throws(LiveError) -> Int {
        (try await host.ask(RoomPoke(id)) as? RoomPoked)?.woken ?? 0
    }

    /// Removes a participant from a room that we host.
    package func remove(
        _ participant: PrincipalID, from id: UUIDText, _ host: isolated some RoomHost
    ) async throws(LiveError) {
        try await host.ask(RoomRemove(participant, from: id))
    }

    /// The WebRTC stack reports on connection `number` to a participant.
    package func report(
        _ report: LinkReport, of peer: PrincipalID, number: Int, in id: UUIDText, _ host: isolated some RoomHost
    ) {
        guard let actions = self.visits[id]?.machine.heard(report, of: peer, number: number, at: .now) else { return }
        self.perform(actions, in: id, host)
        switch report {
        case .connected:
            let actions = self.visits[id]?.talk.opened(peer, link: number, at: .now)
            self.perform(actions ?? [], in: id, host)
        case .low: self.perform(self.visits[id]?.talk.low(peer, link: number) ?? [], in: id, host)
        case .offer, .answer, .candidate, .failed: break
        }
        host.pump()
    }

    // MARK: What is said

    /// By which others in rooms see us, from the next connections on. The server never learns it.
    package func set(name: String?) {
        self.name = name
        for id in self.visits.keys { self.visits[id]?.talk.name = name }
    }

    /// Says something to all who have a seat.
    /// - Parameter isPartial: participants for whom too much waits do not get it.
    /// - Returns: `nil` if we are not in this room.
    package func say(
        _ text: String, answering answered: UUIDText?, isPartial: Bool, in id: UUIDText, _ host: isolated some RoomHost
    ) throws(TalkMachine.Refusal) -> UUIDText? {
        guard self.visits[id] != nil else { return nil }
        let message = TalkMessage(id: .random(), time: host.serverNow, text: text, answered: answered)
        let actions = try self.visits[id]!.talk.say(message, isPartial: isPartial)
        self.perform(actions, in: id, host)
        return message.id
    }

    /// The stack has received something on a channel of connection `number`.
    /// - Parameter text: `nil` was binary.
    package func received(
        _ text: String?, on channel: TalkMachine.Channel, from peer: PrincipalID, number: Int, in id: UUIDText,
        _ host: isolated some RoomHost
    ) {
        guard let visit = self.visits[id], number > 0, visit.machine.link(to: peer) == number else { return }
        switch channel {
        case .talk:
            let actions = self.visits[id]?.talk.heard(text, from: peer, link: number, at: .now)
            self.perform(actions ?? [], in: id, host)
        case .chat:
            // A participant that greets nobody: its texts have no ids, and it cuts its own.
            guard let text, !text.isEmpty, text.utf16.count <= TalkLimits.plainUnitsMax else { return }
            let message = TalkMessage(id: .random(), time: host.serverNow, text: text)
            self.perform([.heard(peer, message)], in: id, host)
        }
        host.pump()
    }

    private func perform(_ actions: [TalkMachine.Action], in id: UUIDText, _ host: isolated some RoomHost) {
        for action in actions {
            switch action {
            case .write(let peer, let number, let channel, let text):
                host.publish(.room(id, .data(peer, number: number, channel, text)))
            case .heard(let peer, let message):
                let name = self.visits[id]?.talk.person(peer)?.name
                host.publish(.room(id, .message(peer, name: name, message)))
            case .state(let message, let peer, let state):
                host.publish(.room(id, .messageState(message, peer, state)))
            case .person(let peer):
                guard let person = self.visits[id]?.talk.person(peer) else { continue }
                host.publish(.room(id, .person(peer, person)))
            case .left(let peer):
                let actions = self.visits[id]?.machine.received(
                    SignalContent(.bye), from: peer, host.serverNow, serverTime: host.serverNow, at: .now)
                self.perform(actions ?? [], in: id, host)
            case .broke(let peer, let number):
                self.logger.debug("somebody in a room talks nonsense")
                let actions = self.visits[id]?.machine.heard(.failed, of: peer, number: number, at: .now)
                self.perform(actions ?? [], in: id, host)
            }
        }
    }

    // MARK: The host of a room

    /// Changes a room that we host. At least one of the three must be set.
    /// - Returns: the room after the change.
    @discardableResult
    package func update(
        _ id: UUIDText, host successor: PrincipalID? = nil, participantsMax: Int? = nil, isLocked: Bool? = nil,
        _ host: isolated some RoomHost
    ) async throws(LiveError) -> RoomState? {
        let frame = RoomUpdate(id, host: successor, participantsMax: participantsMax, isLocked: isLocked)
        return (try await host.ask(frame) as? RoomEvent)?.room
    }

    /// Gives up all our seats, and ends the rooms that we host.
    package func purge(_ host: isolated some RoomHost) async throws(LiveError) -> RoomPurged? {
        guard host.token != nil else { throw .offline }
        // Send `bye` to the connected participants first.
        for id in self.visits.keys {
            if let actions = self.visits[id]?.machine.leave() { self.perform(actions, in: id, host) }
        }
        return try await host.ask(RoomPurge()) as? RoomPurged
    }

    /// The secret for the link of a room to open. A room that was opened before keeps its secret.
    package func secret(of id: UUIDText?, isWanted: Bool) throws(LiveError) -> RoomSecret? {
        guard isWanted else { return nil }
        guard let id else { return .random() }
        do throws(ClientStoreError) { return try self.store.secret(of: id) ?? .random() } catch {
            throw .store(error)
        }
    }

    /// Fetches new credentials for the relays. The credentials of `room_joined` expire.
    package func renewTurn(
        of id: UUIDText, _ host: isolated some RoomHost
    ) async throws(LiveError) -> TurnCredentialsFrame {
        guard let turn = try await host.ask(RoomTurn(id)) as? TurnCredentialsFrame else { throw .noAnswer }
        self.visits[id]?.turn = turn
        return turn
    }

    // MARK: Entering

    private static let again = Backoff(first: .milliseconds(500), longest: .seconds(15))

    /// Asks until the server has answered, `ClientLimits.attemptsMax` times at most.
    private func enter(
        _ entry: RoomEntry, _ frame: some ClientFrame, _ host: isolated some RoomHost
    ) async throws(LiveError) -> UUIDText {
        var failures = 0
        while true {
            let number = host.nextQuestion()
            self.entries[number] = entry
            defer { self.entries[number] = nil }
            do throws(LiveError) {
                guard let joined = try await host.ask(frame, as: number) as? RoomJoined else { throw .noAnswer }
                return joined.room.room
            } catch {
                // A late answer begins no visit.
                self.entries[number] = nil
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
    func rejoin(_ id: UUIDText, _ host: isolated some RoomHost) async {
        guard self.visits[id] != nil, host.token != nil else { return }
        do throws(LiveError) {
            try await host.ask(RoomJoin(.seat(id), keys: self.keys.publicKeys))
        } catch {
            var refusal: (code: ErrorCode?, after: Duration?) = (nil, nil)
            switch error {
            case .offline: return
            case .refused(let code, let after): refusal = (code, after)
            default: break
            }
            let actions = self.visits[id]?.machine.joinFailed(refusal.code, retryAfter: refusal.after, at: .now)
            self.perform(actions ?? [], in: id, host)
        }
    }

    // MARK: Frames of the server

    /// Frames about rooms. Frames of unknown rooms change nothing.
    func take(_ frame: (any ServerFrame)?, answering number: UInt64?, _ host: isolated some RoomHost) {
        switch frame {
        case let joined as RoomJoined: self.take(joined, number.flatMap { self.entries[$0] }, host)
        case let event as RoomEvent: self.take(event, host)
        case let left as RoomLeft where number == nil: self.visits[left.room]?.machine.seatIsGone(at: .now)
        case let signal as RoomSignal: self.take(signal, host)
        default: break
        }
    }

    /// - Parameter entry: data of our request to create or join the room; `nil` for any other `room_joined`.
    private func take(_ joined: RoomJoined, _ entry: RoomEntry?, _ host: isolated some RoomHost) {
        let id = joined.room.room
        if let entry, self.visits[id]?.machine.isOver == false {
            self.visits[id]?.entered(joined, with: self.secret(of: entry, joined, host))
        } else if let entry, let own = host.id {
            let seat = joined.room.participants.first { $0.participant == .identity(own) }
            // A join by code may be a return, too: an old seat shows that we were there before.
            let isReturning =
                entry.isReturning || seat.map { $0.joinedAt + RoomLimits.absenceMax < host.serverNow } ?? false
            var visit = RoomVisit(
                joined, own: .identity(own), secret: self.secret(of: entry, joined, host), isReturning: isReturning,
                talk: TalkMachine(epoch: self.epoch, name: self.name))
            _ = visit.machine.connected()
            self.visits[id] = visit
        }
        guard self.visits[id] != nil else { return }
        self.visits[id]?.show(code: joined.code, until: joined.codeExpiresAt)
        if let turn = joined.turn { self.visits[id]?.turn = turn }
        self.learn(joined.room, host)
        let actions = self.visits[id]?.machine.joined(joined.room, at: .now) ?? []
        self.perform(actions.filter { $0 != .changed }, in: id, showing: true, host)
    }

    /// Only this device knows how we joined. A join by code may find a seat that we have by link: there the server's
    /// word counts.
    private func secret(of entry: RoomEntry, _ joined: RoomJoined, _ host: isolated some RoomHost) -> RoomSecret? {
        let own = joined.room.participants.first { $0.participant == host.id.map { .identity($0) } }
        guard entry.secret == nil, own.map({ $0.via != .code }) ?? false else { return entry.secret }
        return try? self.store.secret(of: joined.room.room)
    }

    private func take(_ event: RoomEvent, _ host: isolated some RoomHost) {
        let id = event.room.room
        guard let before = self.visits[id]?.machine.shown?.revision, event.room.revision > before else { return }
        self.learn(event.room, host)
        host.publish(.room(id, .told(event.event, event.participant)))
        if event.room.host != self.visits[id]?.machine.own {
            self.visits[id]?.show(code: nil, until: nil)
        }
        // The first peer is connected once we have relays: `room_joined` contains them, and then updates the machine.
        let isOver = event.event == .closed || event.event == .removed
        if !isOver, self.visits[id]?.turn == nil, event.room.participants.count > 1 {
            host.begin { await $0.rooms.rejoin(id, $0) }
            return
        }
        let actions = self.visits[id]?.machine.changed(event.event, event.participant, event.room, at: .now)
        self.perform(actions ?? [], in: id, host)
    }

    private func learn(_ room: RoomState, _ host: isolated some RoomHost) {
        let before = self.visits[room.room]?.forged ?? []
        self.visits[room.room]?.learn(room)
        for peer in self.visits[room.room]?.forged.subtracting(before) ?? [] {
            host.publish(.room(room.room, .forged(peer)))
        }
    }

    private func take(_ signal: RoomSignal, _ host: isolated some RoomHost) {
        let (id, sender) = (signal.room, signal.signal.from)
        guard let visit = self.visits[id], signal.to == visit.machine.own else { return }
        guard let keys = visit.keys(of: sender) else {
            // Unknown sender: the machine asks the server for the participants.
            let actions = self.visits[id]?.machine.received(
                SignalContent(signal.kind), from: sender, signal.signal.timestamp, serverTime: host.serverNow, at: .now)
            return self.perform(actions ?? [], in: id, host)
        }
        guard
            let content = keys.open(
                signal.signal, signal.kind, in: id, to: visit.machine.own, reader: self.keys.pair)
        else { return self.logger.debug("a signal did not open") }
        let actions = self.visits[id]?.machine.received(
            content, from: sender, signal.signal.timestamp, serverTime: host.serverNow, at: .now)
        self.perform(actions ?? [], in: id, host)
    }

    private func perform(
        _ actions: [MeshMachine.Action], in id: UUIDText, showing: Bool = false, _ host: isolated some RoomHost
    ) {
        if showing, let view = self[id] { host.publish(.room(id, .shown(view))) }
        if let seats = self.visits[id]?.othersSeats {
            self.perform(self.visits[id]?.talk.seen(seats) ?? [], in: id, host)
        }
        for action in actions {
            switch action {
            case .join: host.begin { await $0.rooms.rejoin(id, $0) }
            case .signal(let kind, let peer, let content): self.signal(kind, content, to: peer, in: id, host)
            case .link(let peer, let number, let order):
                host.publish(.room(id, .link(peer, number: number, order)))
                guard let link = order.link(number) else { continue }
                self.perform(self.visits[id]?.talk.began(peer, link: link) ?? [], in: id, host)
            case .changed: if let view = self[id] { host.publish(.room(id, .shown(view))) }
            case .over(let end):
                self.perform(self.visits[id]?.talk.seen([:]) ?? [], in: id, host)
                host.publish(.room(id, .over(end)))
                self.visits[id] = nil
                // Forget the secret: a closed room stays closed, and after leaving or a removal the user joins anew.
                guard end != .broken else { continue }
                do { try self.store.forget(id) } catch { host.storeFailed(error) }
            }
        }
    }

    private func signal(
        _ kind: RoomSignalKind, _ content: SignalContent, to peer: PrincipalID, in id: UUIDText,
        _ host: isolated some RoomHost
    ) {
        guard host.token != nil, let keys = self.visits[id]?.keys(of: peer), let own = self.visits[id]?.machine.own,
            let time = self.visits[id]?.nextSignalTime(host.serverNow),
            let signal = try? keys.seal(content, in: id, from: own, to: peer, at: time, signer: self.keys.pair)
        else { return }
        host.write(SendRoomSignal(kind, signal, to: peer, in: id), .room(id))
    }

    // MARK: The connection

    func bound(_ host: isolated some RoomHost) {
        for id in self.visits.keys {
            self.visits[id]?.machine.disconnected()
            if let actions = self.visits[id]?.machine.connected() { self.perform(actions, in: id, host) }
        }
    }

    func tick(_ host: isolated some RoomHost) {
        for id in self.visits.keys {
            if let actions = self.visits[id]?.machine.timerFired(at: .now) { self.perform(actions, in: id, host) }
            if let actions = self.visits[id]?.talk.timerFired(at: .now) { self.perform(actions, in: id, host) }
        }
    }

    func disconnected() {
        for id in self.visits.keys { self.visits[id]?.machine.disconnected() }
    }

    func signalRefused(in id: UUIDText, _ code: ErrorCode?) {
        self.visits[id]?.machine.signalRefused(code, at: .now)
    }

    var nextWake: ContinuousClock.Instant? {
        self.visits.values.flatMap { [$0.machine.nextWake, $0.talk.nextWake].compactMap(\.self) }.min()
    }

    /// Whether signals to a participant are salted with the secret of the room's link.
    func isSalted(for peer: PrincipalID, in id: UUIDText) -> Bool? { self.visits[id]?.keys(of: peer)?.isSalted }

    private func kept<T>(_ body: (RoomStore) throws -> T) throws(LiveError) -> T {
        do { return try body(self.store) } catch {
            throw .store(error as? ClientStoreError ?? .failed("\(error)"))
        }
    }
}

/// Data of a room for its first answer.
private struct RoomEntry {
    var secret: RoomSecret?
    /// This identity already has a seat in the room.
    var isReturning: Bool
}

extension LinkOrder {
    /// The connection that there is from now on, if this order changes that; 0: none.
    package func link(_ number: Int) -> Int? {
        switch self {
        case .offer, .accept(_, isFresh: true): number
        case .drop: 0
        case .accept, .answer, .candidate: nil
        }
    }
}

extension MeshMachine {
    var isOver: Bool { if case .over = self.state { true } else { false } }
}
