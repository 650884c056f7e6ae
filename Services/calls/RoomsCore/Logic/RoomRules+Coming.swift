package import ClusterContract
package import Contract
import Participants
import ServerCrypto

/// Entering, returning and leaving (contract §15.1, §15.4).
extension RoomRules {
    mutating func create(_ create: RoomCreate, _ frame: RoomFrame) throws(Refusal) -> Answer {
        let caller = frame.principal.id
        guard frame.principal.hasKeys(create.signPublicKey, create.encPublicKey) else { throw .foreignKeys }
        if let known = self.book[create.room] {
            guard known.creator == caller, known.participants[caller] != nil else {
                throw Refusal(.forbidden, "the room belongs to another participant")
            }
            return try self.back(known, frame)
        }
        let hostedMax: Int =
            if case .identity = caller { RoomLimits.hostedByIdentityMax } else { RoomLimits.hostedByGuestMax }
        guard self.count(self.facts.hosted, of: caller, where: { $0.host == caller }) < hostedMax else {
            throw Refusal(.forbidden, "the caller hosts too many rooms")
        }
        try self.checkSeats(of: caller)
        var room = RoomMachine(
            id: create.room, creator: caller, createdAt: self.time, participantsMax: create.participantsMax,
            linkVerifier: create.linkVerifier)
        room.code = try self.draw(create.code)
        self.sit(
            caller, .creator, code: nil, keys: (create.signPublicKey, create.encPublicKey), on: frame.connection,
            in: &room)
        self.put(room)
        return .reply(self.joined(caller, room, nil))
    }

    mutating func join(_ join: RoomJoin, _ frame: RoomFrame) throws(Refusal) -> Answer {
        guard frame.principal.hasKeys(join.signPublicKey, join.encPublicKey) else { throw .foreignKeys }
        switch join.key {
        case .room(let id, let proof): return try self.join(id, proof, join, frame)
        case .code(let code, let pin): return try self.join(by: code, pin, join, frame)
        }
    }

    private mutating func join(
        _ id: UUIDText, _ proof: Bytes32?, _ join: RoomJoin, _ frame: RoomFrame
    ) throws(Refusal) -> Answer {
        let caller = frame.principal.id
        let found = self.book[id]
        if let found, let seated = found.participants[caller] {
            guard seated.via == .code, let proof, let verifier = found.linkVerifier,
                constantTimeEqual(SHA256.hash(proof.bytes), verifier)
            else { return try self.back(found, frame) }
            return try self.sitAnew(found, join, frame)
        }
        guard let proof else { throw .noSuchRoom }
        // A proof is hashed whether there is a room or not: both take the same time.
        let isRight = constantTimeEqual(SHA256.hash(proof.bytes), found?.linkVerifier ?? proof)
        guard isRight, let room = found, room.linkVerifier != nil, room.barred[caller] == nil else {
            throw .noSuchRoom
        }
        guard !room.isLocked else { throw Refusal(.forbidden, "the room is locked") }
        guard !room.isFull else { throw Refusal(.forbidden, "the room is full") }
        return try self.enter(room, .link, code: nil, join, frame)
    }

    private mutating func join(
        by code: JoinCode?, _ pin: String?, _ join: RoomJoin, _ frame: RoomFrame
    ) throws(Refusal) -> Answer {
        let caller = frame.principal.id
        if case .guest = caller, code?.digits ?? 6 == 6, self.facts.guesses.isUnderAttack {
            throw Refusal(
                .rateLimited, "too many wrong codes were tried lately; a link opens the room",
                retryAfterMilliseconds: max(1_000, self.facts.guesses.milliseconds))
        }
        let found = code.flatMap { self.facts.codes[$0] }.flatMap { self.book[$0] }
        if let found, let participant = found.participants[caller], participant.joinedCode == code?.text {
            return try self.back(found, frame)
        }
        // A pin is hashed whether there is one or not: all misses take the same time.
        let known = found?.code?.pin
        let isRightPin = Self.hash(pin ?? "", known?.salt ?? self.facts.salt) == known?.hash
        guard let code, var room = found, let present = room.code, present.code == code,
            present.expiresAt > self.time, room.participants[caller] == nil, !room.isLocked, !room.isFull,
            room.barred[caller].map({ $0.code != code.text }) ?? true
        else {
            self.misses.append(frame.origin)
            throw .noSuchRoom
        }
        guard known == nil || isRightPin else {
            self.misses.append(frame.origin)
            room.code?.wrongPins += 1
            if room.code?.wrongPins ?? 0 >= RoomLimits.wrongPinsMax { room.code = nil }
            self.put(room)
            throw .noSuchRoom
        }
        return try self.enter(room, .code, code: code, join, frame)
    }

    private mutating func enter(
        _ before: RoomMachine, _ way: RoomParticipant.Way, code: JoinCode?, _ join: RoomJoin, _ frame: RoomFrame
    ) throws(Refusal) -> Answer {
        let caller = frame.principal.id
        try self.checkSeats(of: caller)
        let relays = try self.relays(for: caller, among: before.participants.count + 1)
        var room = before
        room.barred[caller] = nil
        self.sit(
            caller, way, code: code, keys: (join.signPublicKey, join.encPublicKey), on: frame.connection, in: &room)
        room.wasAccepted = true
        if room.isFull { room.code = nil }
        self.changed(&room, .joined, caller, by: caller, exceptOn: frame.connection)
        _ = self.wakeAbsent(&room)
        self.put(room)
        return .reply(self.joined(caller, room, relays))
    }

    /// Somebody who came by a code opens the link now. Others count on the link's secret only for a seat that it gave: this is
    /// another seat, in place of the former.
    private mutating func sitAnew(
        _ before: RoomMachine, _ join: RoomJoin, _ frame: RoomFrame
    ) throws(Refusal) -> Answer {
        let caller = frame.principal.id
        let relays = try self.relays(for: caller, among: before.participants.count)
        if let place = before.participants[caller]?.reachable, place != frame.connection {
            self.effects.append(.event(place, .left(room: before.id)))
        }
        self.signals.forget(caller, in: before.id)
        var room = before
        self.sit(
            caller, .link, code: nil, keys: (join.signPublicKey, join.encPublicKey), on: frame.connection, in: &room)
        self.changed(&room, .joined, caller, by: caller, exceptOn: frame.connection)
        self.put(room)
        return .reply(self.joined(caller, room, relays))
    }

    private func checkSeats(of caller: PrincipalID) throws(Refusal) {
        guard
            self.count(self.facts.seats, of: caller, where: { $0.participants[caller] != nil })
                < RoomLimits.roomsListedMax
        else { throw Refusal(.forbidden, "the caller has a seat in too many rooms") }
    }

    private mutating func sit(
        _ caller: PrincipalID, _ way: RoomParticipant.Way, code: JoinCode?, keys: (sign: Bytes32, enc: Bytes32),
        on connection: LiveConnection, in room: inout RoomMachine
    ) {
        room.participants[caller] = .init(
            seat: room.nextSeat, via: way, joinedCode: code?.text, signPublicKey: keys.sign, encPublicKey: keys.enc,
            joinedAt: self.time, place: connection)
        room.participants[caller]?.placedAt = self.time
        room.nextSeat += 1
        room.connectedAt = self.time
        self.effects.append(.event(connection, .entered(room: room.id)))
    }

    /// A participant is there again, perhaps on another connection. The signals that were kept for it follow.
    private mutating func back(_ before: RoomMachine, _ frame: RoomFrame) throws(Refusal) -> Answer {
        let caller = frame.principal.id
        let relays = try self.relays(for: caller, among: before.participants.count)
        var room = before
        guard var participant = room.participants[caller] else { throw .noSuchRoom }
        let former = participant.reachable
        (participant.place, participant.placedAt) = (frame.connection, self.time)
        (participant.goneAt, participant.awaySince) = (nil, nil)
        room.participants[caller] = participant
        room.connectedAt = self.time
        self.effects.append(.event(frame.connection, .entered(room: room.id)))
        if former != frame.connection {
            // The former one is told when its gateway names it again: this join may be an old one of a connection that has ended.
            if former != nil { room.participants[caller]?.movedAt = self.time }
            self.changed(&room, .back, caller, by: caller, exceptOn: frame.connection)
        }
        self.put(room)
        self.follow(caller, in: room.id, on: frame.connection)
        return .reply(self.joined(caller, room, relays))
    }

    private func joined(_ caller: PrincipalID, _ room: RoomMachine, _ relays: TurnCredentialsFrame?) -> RoomJoined {
        let code = room.host == caller ? room.code.flatMap { $0.expiresAt > self.time ? $0 : nil } : nil
        return RoomJoined(
            room: room.state(), seat: room.participants[caller]?.seat ?? 0, code: code?.code.text,
            codeExpiresAt: code?.expiresAt, turn: relays)
    }

    // MARK: Time

    /// Applies time to all rooms in memory.
    package mutating func tick() {
        for room in Array(self.book.all) where room.isDue(at: self.time) { self.tick(room) }
        self.signals.age(at: self.time) { self.book[$0] != nil }
    }

    private mutating func tick(_ stored: RoomMachine) {
        var room = stored
        for (id, participant) in room.seated {
            guard let goneAt = participant.goneAt, goneAt + RoomLimits.absenceMax <= self.time else { continue }
            room.participants[id]?.place = nil
            room.participants[id]?.goneAt = nil
            room.participants[id]?.awaySince = self.time
            self.changed(&room, .away, id)
        }
        if let since = room.participants[room.host]?.awaySince, since + RoomLimits.hostAbsenceMax <= self.time,
            room.hasConnected
        {
            self.handOver(&room)
        }
        if let code = room.code, code.expiresAt <= self.time { room.code = nil }
        if !room.hasConnected, room.expiresAt <= self.time { return self.end(room, by: nil) }
        if room != stored { self.put(room) }
    }

    // MARK: Connections

    /// A participant's connection has ended.
    package mutating func left(_ id: UUIDText, _ connection: LiveConnection) {
        guard let room = self.book[id] else { return }
        self.lose(room) { place, _ in place == connection }
    }

    /// A node is gone, and all its connections with it.
    package mutating func unheard(by node: NodeID) {
        for room in Array(self.book.all) { self.lose(room) { place, _ in place.node == node } }
    }

    private mutating func lose(
        _ before: RoomMachine, where isLost: (LiveConnection, RoomMachine.Participant) -> Bool
    ) {
        var room = before
        for (id, participant) in room.participants {
            guard let place = participant.reachable, isLost(place, participant) else { continue }
            room.participants[id]?.goneAt = self.time
            room.connectedAt = self.time
        }
        if room != before { self.put(room) }
    }

    /// A gateway reports its participants' connections. Wrong entries are contradicted. A participant that is not named
    /// has gone, unless it has just come: the report may be older. A reported principal without a seat is told: the
    /// frame with the reason may be lost.
    package mutating func reported(_ entries: [RoomReportEntry], by node: NodeID, of share: RoomShare) {
        let named = Set(entries.map { LiveConnection(node: node, connection: $0.connection) })
        let now = self.time
        for room in Array(self.book.all) where RoomShare(of: room.id) == share {
            self.lose(room) { place, participant in
                place.node == node && !named.contains(place) && !OwnerLimits.isNew(participant.placedAt, at: now)
            }
        }
        for entry in entries {
            let place = LiveConnection(node: node, connection: entry.connection)
            guard var room = self.book[entry.room], let participant = room.participants[entry.participant],
                participant.place == nil || participant.goneAt != nil || participant.place == place
            else {
                let movedAt = self.book[entry.room]?.participants[entry.participant]?.movedAt
                if let movedAt, movedAt + RoomOwnerLimits.moveDoubtedFor > self.time { continue }
                self.effects.append(.event(place, .left(room: entry.room)))
                if self.book[entry.room]?.participants[entry.participant] == nil {
                    self.effects.append(.frame(place, RoomLeft(entry.room)))
                }
                continue
            }
            guard participant.reachable != place else { continue }
            room.participants[entry.participant]?.place = place
            room.participants[entry.participant]?.goneAt = nil
            room.participants[entry.participant]?.awaySince = nil
            if participant.place == nil { self.changed(&room, .back, entry.participant, exceptOn: place) }
            self.put(room)
            // Changes while it was taken for gone were told to the others only.
            let news = RoomEvent(.updated, timestamp: self.time, room: room.state())
            self.effects.append(.frame(place, news))
            self.follow(entry.participant, in: room.id, on: place)
        }
    }
}

extension Refusal {
    static let foreignKeys = Refusal(.authFailed, "the keys are not the caller's")
}
