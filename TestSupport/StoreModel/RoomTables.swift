import ClusterContract
package import Contract
package import Store

/// `calls.rooms`, `.room_participants`, `.room_barred`, `.room_codes`, `.room_misses` and `.relay_keys`.
package struct RoomTables: Sendable {
    package struct Principal: Hashable, Sendable {
        package var isGuest: Bool
        package var id: PostgresUUID

        package init(isGuest: Bool, id: PostgresUUID) {
            self.isGuest = isGuest
            self.id = id
        }

        package init(_ id: PrincipalID) {
            switch id {
            case .identity(let identity): self.init(isGuest: false, id: PostgresUUID(high: 0, low: identity.bits))
            case .guest(let guest):
                self.init(isGuest: true, id: PostgresUUID(high: guest.high, low: guest.low))
            }
        }

        fileprivate static func isBefore(_ a: Self, _ b: Self) -> Bool {
            (a.isGuest ? 1 : 0, a.id.high, a.id.low) < (b.isGuest ? 1 : 0, b.id.high, b.id.low)
        }
    }

    package struct Room: Sendable {
        var share: Int16
        var creator: Principal
        package var host: Principal
        package var participantsMax: Int16
        var isLocked: Bool
        package var revision: Int64
        var nextSeat: Int32
        var wasAccepted: Bool
        var linkVerifier: Bytes32?
        var createdAt: Timestamp
        var connectedAt: Timestamp
        var expiresAt: Timestamp
        package var participants: [Principal: Participant] = [:]
        var barred: [Principal: (code: String, since: Timestamp)] = [:]

        var isConnected: Bool { self.participants.values.contains { $0.node != nil } }
        var seated: [(key: Principal, value: Participant)] {
            self.participants.sorted { Principal.isBefore($0.key, $1.key) }
        }
    }

    package struct Participant: Sendable {
        package var seat: Int32
        var via: String
        package var joinedCode: String?
        var signKey: Bytes32
        var encKey: Bytes32
        package var joinedAt: Timestamp
        package var node: Int64?
        var connection: Int64?
        package var awaySince: Timestamp?
        var isLeaving = false
    }

    package struct Code: Sendable {
        package var room: PostgresUUID?
        var pinSalt: [UInt8]?
        var pinHash: Bytes32?
        var wrongPins: Int16 = 0
        var expiresAt: Timestamp
        package var retiredAt: Timestamp?
    }

    package internal(set) var rooms: [PostgresUUID: Room] = [:]
    package internal(set) var codes: [String: Code] = [:]
    var misses: [(at: Timestamp, origin: Int64)] = []
    var relayKeys: [Timestamp: [UInt8]] = [:]

    // MARK: For judges

    package func room(_ id: UUIDText) -> Room? { self.rooms[PostgresUUID(id)] }

    package func hasOpenCode(_ id: UUIDText) -> Bool {
        self.codes.values.contains { $0.room == PostgresUUID(id) && $0.retiredAt == nil }
    }

    // MARK: Statements

    static let statements = Self.reads + Self.codeReads + Self.roomWrites + Self.codeWrites + Self.relays

    private static let reads = [
        StoreModel.reads("SELECT room_id FROM calls.rooms r\nWHERE share = ANY ($1::int2[]) AND EXISTS") {
            model, parameters in
            let shares = Set(parameters(1, [Int16].self))
            let active = model.rooms.rooms.filter { shares.contains($0.value.share) && $0.value.isConnected }
            return StatementAnswer(Self.sorted(active.keys)) { $1.add($0) }
        },
        StoreModel.reads("SELECT room_id FROM calls.rooms r\nWHERE share = ANY ($1::int2[]) AND expires_at < now()") {
            model, parameters in
            let (shares, limit) = (Set(parameters(1, [Int16].self)), parameters(2, Int64.self))
            let expired = model.rooms.rooms.filter {
                shares.contains($0.value.share) && $0.value.expiresAt < model.now && !$0.value.isConnected
            }
            return StatementAnswer(Self.sorted(expired.keys).prefix(Int(limit))) { $1.add($0) }
        },
        StoreModel.reads("SELECT p.room_id, p.is_guest, p.participant\nFROM calls.room_participants p JOIN") {
            model, parameters in
            let (shares, limit) = (Set(parameters(1, [Int16].self)), parameters(2, Int64.self))
            let leaving = Self.sorted(model.rooms.rooms.keys).flatMap { id in
                model.rooms.rooms[id]!.seated.filter {
                    $0.value.isLeaving && shares.contains(model.rooms.rooms[id]!.share)
                }.map { (id, $0.key) }
            }
            return StatementAnswer(leaving.prefix(Int(limit))) {
                $1.add($0.0)
                Self.add($0.1, to: &$1)
            }
        },
        StoreModel.reads("SELECT room_id, creator_is_guest, creator") { model, parameters in
            let ids = Self.sorted(Set(parameters(1, [PostgresUUID].self))).filter { model.rooms.rooms[$0] != nil }
            return StatementAnswer(ids) { id, row in
                let room = model.rooms.rooms[id]!
                row.add(id)
                Self.add(room.creator, to: &row)
                Self.add(room.host, to: &row)
                row.add(room.participantsMax)
                row.add(room.isLocked)
                row.add(room.revision)
                row.add(room.nextSeat)
                row.add(room.wasAccepted)
                row.add(room.linkVerifier)
                row.add(room.createdAt)
                row.add(room.connectedAt)
            }
        },
        StoreModel.reads("SELECT room_id, is_guest, participant, seat") { model, parameters in
            let rows = Self.sorted(Set(parameters(1, [PostgresUUID].self))).flatMap { id in
                (model.rooms.rooms[id]?.seated ?? []).map { (id, $0.key, $0.value) }
            }
            return StatementAnswer(rows) { item, row in
                let (id, key, participant) = item
                row.add(id)
                Self.add(key, to: &row)
                row.add(participant.seat)
                row.add(participant.via)
                row.add(participant.joinedCode)
                row.add(participant.signKey)
                row.add(participant.encKey)
                row.add(participant.joinedAt)
                row.add(participant.node)
                row.add(participant.connection)
                row.add(participant.awaySince)
            }
        },
        StoreModel.reads("SELECT room_id, is_guest, participant, code, barred_at") { model, parameters in
            let rows = Self.sorted(Set(parameters(1, [PostgresUUID].self))).flatMap { id in
                (model.rooms.rooms[id]?.barred ?? [:]).sorted { Principal.isBefore($0.key, $1.key) }
                    .map { (id, $0.key, $0.value) }
            }
            return StatementAnswer(rows) {
                $1.add($0.0)
                Self.add($0.1, to: &$1)
                $1.add($0.2.code)
                $1.add($0.2.since)
            }
        },
        StoreModel.reads("SELECT p.is_guest, p.participant, p.room_id") { model, parameters in
            let rows = Self.principals(parameters, 1, 2).flatMap { principal in
                Self.sorted(
                    model.rooms.rooms.filter { $0.value.participants[principal].map { !$0.isLeaving } ?? false }.keys
                ).map { (principal, $0) }
            }
            return StatementAnswer(rows) {
                Self.add($0.0, to: &$1)
                $1.add($0.1)
            }
        },
        StoreModel.reads("SELECT g.is_guest, g.host, count(r.room_id)") { model, parameters in
            let counts = Self.principals(parameters, 1, 2).map { principal in
                (principal, Int64(model.rooms.rooms.values.count { $0.host == principal }))
            }
            return StatementAnswer(counts.filter { $0.1 > 0 }) {
                Self.add($0.0, to: &$1)
                $1.add($0.1)
            }
        },
        // Conflicts with other transactions are found at the commit.
        StoreModel.reads("SELECT pg_advisory_xact_lock(hashtextextended('calls.rooms'") { _, _ in .nothing },
    ]

    private static let codeReads = [
        StoreModel.reads("SELECT room_id, code, expires_at, wrong_pins") { model, parameters in
            let ids = Set(parameters(1, [PostgresUUID].self))
            let open = model.rooms.codes.filter { code in
                code.value.retiredAt == nil && code.value.room.map { ids.contains($0) } ?? false
            }
            return StatementAnswer(open.sorted { $0.key < $1.key }) { item, row in
                row.add(item.value.room!)
                row.add(item.key)
                row.add(item.value.expiresAt)
                row.add(item.value.wrongPins)
                row.add(item.value.pinSalt)
                row.add(item.value.pinHash)
            }
        },
        StoreModel.reads("SELECT code, room_id FROM calls.room_codes") { model, parameters in
            let known = parameters(1, [String].self).filter { model.rooms.codes[$0]?.room != nil }
            return StatementAnswer(Set(known).sorted()) {
                $1.add($0)
                $1.add(model.rooms.codes[$0]!.room!)
            }
        },
        StoreModel.reads("SELECT code FROM calls.room_codes") { model, parameters in
            StatementAnswer(Set(parameters(1, [String].self)).filter { model.rooms.codes[$0] != nil }.sorted()) {
                $1.add($0)
            }
        },
        StoreModel.reads("SELECT length(code), count(*) FROM calls.room_codes") { model, _ in
            let lengths = Dictionary(grouping: model.rooms.codes.keys) { Int32($0.utf8.count) }
            return StatementAnswer(lengths.sorted { $0.key < $1.key }) {
                $1.add($0.key)
                $1.add(Int64($0.value.count))
            }
        },
        StoreModel.reads("SELECT count(*), count(DISTINCT origin)") { model, parameters in
            let seconds: Int64 = parameters(1)
            let window = 1_000 * seconds
            let recent = model.rooms.misses.filter { $0.at.milliseconds > model.now.milliseconds - window }
            let times = model.rooms.misses.map(\.at.milliseconds).sorted(by: >).dropFirst(
                Int(parameters(2, Int64.self)))
            let left = times.first.map { $0 + window - model.now.milliseconds } ?? 0
            return StatementAnswer([(Int64(recent.count), Int64(Set(recent.map(\.origin)).count), left)]) {
                $1.add($0.0)
                $1.add($0.1)
                $1.add($0.2)
            }
        },
    ]

    private static let roomWrites = [
        StoreModel.writes("DELETE FROM calls.rooms WHERE room_id") { model, parameters in
            let ids = Set(parameters(1, [PostgresUUID].self))
            for id in ids { model.rooms.rooms[id] = nil }
            for (code, row) in model.rooms.codes where row.room.map({ ids.contains($0) }) ?? false {
                model.rooms.codes[code]!.room = nil
            }
            return .changed(ids.count)
        },
        StoreModel.writes("INSERT INTO calls.rooms (") { model, parameters in
            let id: PostgresUUID = parameters(1)
            var row = Room(
                share: parameters(2), creator: Principal(isGuest: parameters(3), id: parameters(4)),
                host: Principal(isGuest: parameters(5), id: parameters(6)), participantsMax: parameters(7),
                isLocked: parameters(8), revision: parameters(9), nextSeat: parameters(10),
                wasAccepted: parameters(11), linkVerifier: parameters(12), createdAt: parameters(13),
                connectedAt: parameters(14), expiresAt: parameters(15))
            if let known = model.rooms.rooms[id] {
                (row.share, row.creator, row.linkVerifier) = (known.share, known.creator, known.linkVerifier)
                (row.createdAt, row.participants, row.barred) = (known.createdAt, known.participants, known.barred)
                if model.flaw == .keepsRoomRevision { row.revision = known.revision }
                if model.flaw == .reusesSeats { row.nextSeat = known.nextSeat }
            }
            model.rooms.rooms[id] = row
            return .changed(1)
        },
        StoreModel.writes("INSERT INTO calls.room_participants") { model, parameters in
            let id: PostgresUUID = parameters(1)
            let keys = Self.principals(parameters, 2, 3)
            let (seats, vias): ([Int32], [String]) = (parameters(4), parameters(5))
            let codes: [String?] = parameters(6)
            let (signKeys, encKeys): ([Bytes32], [Bytes32]) = (parameters(7), parameters(8))
            let joined: [Timestamp] = parameters(9)
            let (nodes, connections): ([Int64?], [Int64?]) = (parameters(10), parameters(11))
            let away: [Timestamp?] = parameters(12)
            for (index, key) in keys.enumerated() {
                let known = model.rooms.rooms[id]?.participants[key]
                var row = Participant(
                    seat: seats[index], via: vias[index], joinedCode: codes[index],
                    signKey: known?.signKey ?? signKeys[index], encKey: known?.encKey ?? encKeys[index],
                    joinedAt: joined[index])
                row.isLeaving = known.map { $0.isLeaving && $0.seat == seats[index] } ?? false
                (row.node, row.connection, row.awaySince) = (nodes[index], connections[index], away[index])
                model.rooms.rooms[id]?.participants[key] = row
            }
            return .changed(keys.count)
        },
        StoreModel.writes("INSERT INTO calls.room_barred") { model, parameters in
            let id: PostgresUUID = parameters(1)
            let codes: [String] = parameters(4)
            if model.flaw == .forgetsRemoved { return .changed(codes.count) }
            let times: [Timestamp] = parameters(5)
            for (index, key) in Self.principals(parameters, 2, 3).enumerated() {
                model.rooms.rooms[id]?.barred[key] = (codes[index], times[index])
            }
            return .changed(codes.count)
        },
        StoreModel.writes("DELETE FROM calls.room_participants p") { model, parameters in
            let keys = Self.principals(parameters, 1, 2)
            if model.flaw == .keepsSeats { return .changed(keys.count) }
            for key in keys { model.rooms.rooms[parameters(3)]?.participants[key] = nil }
            return .changed(keys.count)
        },
        StoreModel.writes("DELETE FROM calls.room_barred p") { model, parameters in
            let keys = Self.principals(parameters, 1, 2)
            for key in keys { model.rooms.rooms[parameters(3)]?.barred[key] = nil }
            return .changed(keys.count)
        },
        StoreModel.writes("UPDATE calls.room_participants SET is_leaving") { model, parameters in
            let key = Principal(isGuest: parameters(2), id: parameters(3))
            let ids: [PostgresUUID] = parameters(1)
            for id in ids { model.rooms.rooms[id]?.participants[key]?.isLeaving = true }
            return .changed(ids.count)
        },
    ]

    private static let codeWrites = [
        StoreModel.writes("UPDATE calls.room_codes SET wrong_pins") { model, parameters in
            let room: PostgresUUID = parameters(2)
            for (code, row) in model.rooms.codes where row.room == room && row.retiredAt == nil {
                model.rooms.codes[code]!.wrongPins = parameters(1)
            }
            return .changed(1)
        },
        StoreModel.writes("INSERT INTO calls.room_codes") { (model, parameters) throws(Refused) in
            let (code, room): (String, PostgresUUID) = (parameters(1), parameters(2))
            guard model.rooms.codes[code] == nil else { throw .unique(constraint: "room_codes_pkey") }
            guard !model.rooms.codes.values.contains(where: { $0.room == room && $0.retiredAt == nil }) else {
                throw .unique(constraint: "room_codes_open")
            }
            model.rooms.codes[code] = Code(
                room: room, pinSalt: parameters(3), pinHash: parameters(4), expiresAt: parameters(5))
            return .changed(1)
        },
        StoreModel.writes("UPDATE calls.room_codes SET retired_at = $1") { model, parameters in
            let rooms = Set(parameters(2, [PostgresUUID].self))
            if model.flaw == .keepsCodes { return .changed(rooms.count) }
            for (code, row) in model.rooms.codes
            where row.retiredAt == nil && row.room.map({ rooms.contains($0) }) ?? false {
                model.rooms.codes[code]!.retiredAt = parameters(1)
                model.rooms.codes[code]!.pinSalt = nil
                model.rooms.codes[code]!.pinHash = nil
            }
            return .changed(rooms.count)
        },
        StoreModel.writes("INSERT INTO calls.room_misses") { model, parameters in
            let origins: [Int64] = parameters(1)
            for origin in origins { model.rooms.misses.append((model.now, origin)) }
            return .changed(origins.count)
        },
        // Sweeps.
        StoreModel.writes("UPDATE calls.room_codes SET retired_at = expires_at") { model, _ in
            for (code, row) in model.rooms.codes
            where row.retiredAt == nil && row.expiresAt.milliseconds < model.now.milliseconds - 60_000 {
                model.rooms.codes[code]!.retiredAt = row.expiresAt
            }
            return .nothing
        },
        StoreModel.writes("DELETE FROM calls.room_codes") { model, parameters in
            let end = model.now.milliseconds - 1_000 * parameters(1, Int64.self)
            for (code, row) in model.rooms.codes where row.retiredAt.map({ $0.milliseconds < end }) ?? false {
                model.rooms.codes[code] = nil
            }
            return .nothing
        },
        StoreModel.writes("DELETE FROM calls.room_misses") { model, parameters in
            let end = model.now.milliseconds - 1_000 * parameters(1, Int64.self)
            model.rooms.misses.removeAll { $0.at.milliseconds < end }
            return .nothing
        },
    ]

    private static let relays = [
        // None is old enough.
        StoreModel.reads("DELETE FROM calls.relay_keys") { _, _ in .nothing },
        StoreModel.writes("INSERT INTO calls.relay_keys") { model, parameters in
            let start: Timestamp = parameters(1)
            guard model.rooms.relayKeys[start] == nil else { return .nothing }
            model.rooms.relayKeys[start] = parameters(2)
            return .changed(1)
        },
        StoreModel.reads("SELECT key FROM calls.relay_keys") { model, parameters in
            StatementAnswer([model.rooms.relayKeys[parameters(1)]].compactMap { $0 }) { $1.add($0) }
        },
    ]

    private static func add(_ principal: Principal, to row: inout Columns) {
        row.add(principal.isGuest)
        row.add(principal.id)
    }

    private static func principals(_ parameters: Parameters, _ guests: Int, _ ids: Int) -> [Principal] {
        zip(parameters(guests, [Bool].self), parameters(ids, [PostgresUUID].self)).map {
            Principal(isGuest: $0, id: $1)
        }
    }

    private static func sorted(_ ids: some Sequence<PostgresUUID>) -> [PostgresUUID] {
        ids.sorted { ($0.high, $0.low) < ($1.high, $1.low) }
    }
}
