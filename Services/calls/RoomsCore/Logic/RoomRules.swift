package import ClusterContract
package import Contract
import Participants
import ServerCrypto

/// Applies what happens to the rooms of a book, one event after the other (contract §15, §19). The rules do
/// nothing themselves: gateways, push and other owners are told by `effects`.
package struct RoomRules: Sendable {
    package var book: RoomBook
    package var signals: KeptSignals
    package var effects: [RoomEffect] = []
    /// Addresses of joins with wrong codes or pins, to be counted.
    package var misses: [UInt64] = []
    /// Signals taken, by kind.
    package var signalled: [RoomSignalKind] = []
    let facts: RoomFacts
    let time: Timestamp
    /// Codes of this batch.
    private var drawn: Set<JoinCode> = []
    private var salts = 0

    package init(book: RoomBook, signals: KeptSignals, facts: RoomFacts = RoomFacts(), at now: Timestamp) {
        self.book = book
        self.signals = signals
        self.facts = facts
        self.time = now
    }

    // MARK: Frames

    package mutating func received(_ frame: RoomFrame) -> Answer {
        let caller = frame.principal.id
        if let verdict = frame.principal.verdict(self.facts.accounts[caller]) { return verdict }
        do throws(Refusal) {
            switch frame.body {
            case .create(let create): return try self.create(create, frame)
            case .join(let join): return try self.join(join, frame)
            case .signal(let signal): return try self.signal(signal, frame)
            case .code(let renewal): return try self.renew(renewal, frame)
            case .update(let update): return try self.update(update, frame)
            case .remove(let removal): return try self.remove(removal, frame)
            case .poke(let room): return try self.poke(room, by: caller)
            case .turn(let room):
                guard
                    let relays = try self.relays(
                        for: caller, among: try self.seat(of: caller, in: room).participants.count)
                else {
                    throw Refusal(.forbidden, "nobody else has a seat in the room")
                }
                return .reply(relays)
            case .leave(let room):
                self.leave(room, caller, on: frame.connection)
                return .reply(RoomLeft(room))
            case .close(let room): return try self.close(room, frame)
            case .list: return .reply(Rooms(self.rooms(of: caller).map { $0.state() }))
            case .purge: return self.purge(by: caller, on: frame.connection)
            }
        } catch {
            return .refused(error)
        }
    }

    /// The room, for one of its participants. It exists for nobody else.
    func seat(of caller: PrincipalID, in id: UUIDText) throws(Refusal) -> RoomMachine {
        guard let room = self.book[id], room.participants[caller] != nil else { throw .noSuchRoom }
        return room
    }

    private func hosted(_ id: UUIDText, by caller: PrincipalID) throws(Refusal) -> RoomMachine {
        let room = try self.seat(of: caller, in: id)
        guard room.host == caller else { throw .notHost }
        return room
    }

    mutating func put(_ room: RoomMachine) { self.book.put(room, at: room.id) }

    /// - Parameter seats: that are taken in the room.
    /// - Returns: `nil` while there is nobody to talk with (contract §13b).
    func relays(for principal: PrincipalID, among seats: Int) throws(Refusal) -> TurnCredentialsFrame? {
        guard seats > 1 else { return nil }
        guard let credentials = self.facts.relays.credentials(for: principal, at: self.time) else {
            throw Refusal(.internalError, "no relay can be named now; safe to retry")
        }
        return credentials
    }

    // MARK: Codes

    /// A code as the host wants it, longer where short ones are many (contract §13b, §15.3).
    mutating func draw(_ wish: RoomCodeWish) throws(Refusal) -> RoomMachine.Code? {
        guard wish.wantsCode else { return nil }
        let lengths = RoomLimits.codeDigits.map { Int($0) }.filter { $0 >= wish.digits }
        let wanted = lengths.filter { !self.isCrowded($0) } + lengths.reversed()
        guard
            let code = wanted.compactMap({ self.facts.freeCodes[$0]?.first { !self.drawn.contains($0) } }).first
        else {
            throw Refusal(
                .rateLimited, "all codes are in use or rest",
                retryAfterMilliseconds: 1_000 * RoomLimits.codesExhaustedFor.components.seconds)
        }
        self.drawn.insert(code)
        let pin = wish.pin.map { digits in
            self.salts += 1
            let salt = SHA256.hash(self.facts.salt + [UInt8(truncatingIfNeeded: self.salts)]).bytes
            return RoomMachine.Code.Pin(salt: salt, hash: Self.hash(digits, salt))
        }
        return RoomMachine.Code(code: code, expiresAt: self.time + wish.ttl, pin: pin)
    }

    /// Guessing codes of this length is too easy, and drawing one that nobody has takes too long.
    private func isCrowded(_ digits: Int) -> Bool {
        let count = self.facts.codeCounts[digits, default: 0] + self.drawn.count { $0.digits == digits }
        let all = (0..<digits).reduce(1) { number, _ in 10 * number }
        return count > all / RoomLimits.codeRarity
    }

    static func hash(_ pin: String, _ salt: [UInt8]) -> Bytes32 { SHA256.hash(salt + Array(pin.utf8)) }

    private mutating func renew(_ renewal: RenewRoomCode, _ frame: RoomFrame) throws(Refusal) -> Answer {
        var room = try self.hosted(renewal.room, by: frame.principal.id)
        // A full room has no code (contract §15.3).
        room.code = room.isFull ? nil : try self.draw(renewal.code)
        self.put(room)
        return .reply(
            RoomCodeFrame(room: room.id, code: room.code?.code.text, codeExpiresAt: room.code?.expiresAt))
    }

    // MARK: The host

    private mutating func update(_ update: RoomUpdate, _ frame: RoomFrame) throws(Refusal) -> Answer {
        let caller = frame.principal.id
        guard !update.changesNothing else { throw Refusal(.invalidPayload, "changes nothing") }
        var room = try self.hosted(update.room, by: caller)
        if let host = update.host, room.participants[host] == nil {
            throw Refusal(.notFound, "no such participant")
        }
        if let most = update.participantsMax, most < room.participants.count {
            throw Refusal(.invalidPayload, "participantsMax: is below the present number")
        }
        var answer: RenderedFrame?
        if update.participantsMax != nil || update.isLocked != nil {
            room.participantsMax = update.participantsMax ?? room.participantsMax
            room.isLocked = update.isLocked ?? room.isLocked
            if room.isFull { room.code = nil }
            answer = self.changed(&room, .updated, by: caller, exceptOn: frame.connection)
        }
        if let host = update.host {
            room.host = host
            answer = self.changed(&room, .host, host, by: caller, exceptOn: frame.connection)
        }
        self.put(room)
        guard let answer else { throw Refusal(.invalidPayload, "changes nothing") }
        return answer.reply
    }

    private mutating func remove(_ removal: RoomRemove, _ frame: RoomFrame) throws(Refusal) -> Answer {
        let (caller, participant) = (frame.principal.id, removal.participant)
        var room = try self.hosted(removal.room, by: caller)
        guard participant != caller else {
            throw Refusal(.invalidPayload, "participant: whoever hosts the room leaves instead")
        }
        guard let removed = room.participants.removeValue(forKey: participant) else {
            throw Refusal(.notFound, "no such participant")
        }
        // An older code opens nothing more; the present one must not let it in again.
        room.bar(participant, at: self.time)
        self.signals.forget(participant, in: room.id)
        let event = self.changed(&room, .removed, participant, by: caller, exceptOn: frame.connection)
        if let place = removed.reachable {
            self.effects.append(.event(place, .left(room: room.id)))
            self.effects.append(.frame(place, event))
        }
        self.put(room)
        return event.reply
    }

    private mutating func close(_ id: UUIDText, _ frame: RoomFrame) throws(Refusal) -> Answer {
        // A caller without a seat gets the same answer again.
        if let room = self.book[id], room.participants[frame.principal.id] != nil {
            guard room.host == frame.principal.id else { throw .notHost }
            self.end(room, by: frame.principal.id, exceptOn: frame.connection)
        }
        return .reply(RoomLeft(id))
    }

    /// The room is over. Nothing of it is kept.
    mutating func end(_ room: RoomMachine, by actor: PrincipalID?, exceptOn connection: LiveConnection? = nil) {
        var room = room
        room.revision += 1
        let event = RenderedFrame(
            RoomEvent(.closed, by: actor, timestamp: self.time, room: room.state(isClosed: true)))
        for participant in room.participants.values {
            guard let place = participant.reachable else { continue }
            self.effects.append(.event(place, .left(room: room.id)))
            if place != connection { self.effects.append(.frame(place, event)) }
        }
        self.signals.forget(room.id)
        self.book.put(nil, at: room.id)
    }

    // MARK: Leaving

    /// - Parameter connection: of a participant that leaves by itself, and has an answer of its own.
    mutating func leave(_ id: UUIDText, _ participant: PrincipalID, on connection: LiveConnection?) {
        guard var room = self.book[id], let left = room.participants.removeValue(forKey: participant) else { return }
        if let place = left.reachable { self.effects.append(.event(place, .left(room: id))) }
        self.signals.forget(participant, in: id)
        guard !room.participants.isEmpty else { return self.end(room, by: participant, exceptOn: connection) }
        self.changed(&room, .left, participant, by: participant)
        if room.host == participant { self.handOver(&room) }
        self.put(room)
    }

    /// An erased identity leaves as others do, and hosts nothing afterwards.
    mutating func erased(_ participant: PrincipalID, from id: UUIDText) {
        self.leave(id, participant, on: nil)
        guard var room = self.book[id], room.host == participant else { return }
        self.handOver(&room)
        if room.host == participant { self.end(room, by: participant, exceptOn: nil) } else { self.put(room) }
    }

    mutating func handOver(_ room: inout RoomMachine) {
        guard let host = room.nextHost, host != room.host else { return }
        room.host = host
        self.changed(&room, .host, host)
    }

    private mutating func purge(by caller: PrincipalID, on connection: LiveConnection) -> Answer {
        var (left, closed) = (0, 0)
        for room in self.rooms(of: caller) {
            let isHost = room.host == caller
            if isHost { closed += 1 } else { left += 1 }
            if self.book[room.id] != nil {
                self.purged(room.id, caller, on: connection)
            } else {
                self.effects.append(.purge(room.id, caller))
            }
        }
        return .reply(RoomPurged(left: left, closed: closed))
    }

    /// Somebody leaves all rooms, and this one: as host it closes it.
    package mutating func purged(_ id: UUIDText, _ participant: PrincipalID, on connection: LiveConnection? = nil) {
        guard let room = self.book[id], room.participants[participant] != nil else { return }
        if room.host == participant {
            self.end(room, by: participant, exceptOn: connection)
        } else {
            self.leave(id, participant, on: connection)
        }
    }

    /// As the tables had them, with what this process knows.
    private func rooms(of caller: PrincipalID) -> [RoomMachine] {
        let changed = self.book.changes.compactMap { ($0.after ?? $0.before)?.id }
        let kept = (self.facts.rooms[caller] ?? []).filter { !changed.contains($0.id) }.map { self.book[$0.id] ?? $0 }
        return (kept + self.book.changes.compactMap(\.after)).filter { $0.participants[caller] != nil }
            .sorted { ($0.createdAt, "\($0.id)") < ($1.createdAt, "\($1.id)") }
    }

    /// How many rooms somebody hosts or has a seat in, with what this batch has changed.
    func count(_ known: [PrincipalID: Int], of caller: PrincipalID, where counts: (RoomMachine) -> Bool) -> Int {
        self.book.changes.reduce(known[caller] ?? 0) { count, change in
            count + (change.after.map(counts) == true ? 1 : 0) - (change.before.map(counts) == true ? 1 : 0)
        }
    }

    // MARK: Waking

    private mutating func poke(_ id: UUIDText, by caller: PrincipalID) throws(Refusal) -> Answer {
        var room = try self.seat(of: caller, in: id)
        let woken = self.wakeAbsent(&room)
        self.put(room)
        return .reply(RoomPoked(room: id, woken: woken))
    }

    /// Wakes the identities that are away, each once in a while.
    mutating func wakeAbsent(_ room: inout RoomMachine) -> Int {
        var woken = 0
        for (id, participant) in room.seated where participant.reachable == nil {
            guard case .identity(let identity) = id,
                participant.wokenAt.map({ $0 + RoomLimits.pokePause <= self.time }) ?? true
            else { continue }
            room.participants[id]?.wokenAt = self.time
            self.effects.append(.wake(identity, room: room.id))
            woken += 1
        }
        return woken
    }

    // MARK: Telling

    /// One change: the revision counts it, and all connected participants get one event, rendered once.
    /// - Parameter connection: of the caller, which has an answer of its own.
    @discardableResult
    mutating func changed(
        _ room: inout RoomMachine, _ event: RoomEvent.Event, _ participant: PrincipalID? = nil,
        by actor: PrincipalID? = nil, exceptOn connection: LiveConnection? = nil
    ) -> RenderedFrame {
        room.revision += 1
        if room.hasConnected { room.connectedAt = self.time }
        let frame = RenderedFrame(
            RoomEvent(event, participant: participant, by: actor, timestamp: self.time, room: room.state()))
        for (_, other) in room.seated {
            guard let place = other.reachable, place != connection else { continue }
            self.effects.append(.frame(place, frame))
        }
        return frame
    }
}
