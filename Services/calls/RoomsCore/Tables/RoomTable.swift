import ClusterContract
import Contract
import Participants
import Store

/// The only code that reads or writes `calls.rooms`, `calls.room_participants` and `calls.room_barred`.
enum RoomTable {
    // MARK: Reading

    /// Rooms of these shares in which somebody is connected, for their new owner.
    static func active(in shares: [RoomShare]) -> Statement<[UUIDText]> {
        Statement(
            """
            SELECT room_id FROM calls.rooms r
            WHERE share = ANY (\(shares.map { Int16($0.index) })::int2[]) AND EXISTS (
                SELECT FROM calls.room_participants p WHERE p.room_id = r.room_id AND p.node IS NOT NULL)
            """,
            each: { row throws(StoreError) in UUIDText(try row.next(PostgresUUID.self)) })
    }

    /// Rooms of these shares that are over.
    static func expired(in shares: [RoomShare], limit: Int) -> Statement<[UUIDText]> {
        Statement(
            """
            SELECT room_id FROM calls.rooms r
            WHERE share = ANY (\(shares.map { Int16($0.index) })::int2[]) AND expires_at < now() AND NOT EXISTS (
                SELECT FROM calls.room_participants p WHERE p.room_id = r.room_id AND p.node IS NOT NULL)
            LIMIT \(Int64(limit))
            """,
            each: { row throws(StoreError) in UUIDText(try row.next(PostgresUUID.self)) })
    }

    /// The participants that leave all rooms, with the rooms of these shares in which they still have a seat.
    static func leaving(in shares: [RoomShare], limit: Int) -> Statement<[(room: UUIDText, participant: PrincipalID)]> {
        Statement(
            """
            SELECT p.room_id, p.is_guest, p.participant
            FROM calls.room_participants p JOIN calls.rooms r ON r.room_id = p.room_id
            WHERE p.is_leaving AND r.share = ANY (\(shares.map { Int16($0.index) })::int2[])
            LIMIT \(Int64(limit))
            """,
            each: { row throws(StoreError) in
                (room: UUIDText(try row.next(PostgresUUID.self)), participant: try PrincipalID(&row))
            })
    }

    /// Whole rooms, in three statements of one pipeline.
    static func load(_ ids: [UUIDText]) -> Loading { Loading(ids.map { PostgresUUID($0) }) }

    /// Reads whole rooms: three statements in one pipeline.
    struct Loading {
        private let ids: [PostgresUUID]

        fileprivate init(_ ids: [PostgresUUID]) { self.ids = ids }

        nonisolated(nonsending) func run(on store: PostgresConnection) async throws(StoreError) -> [RoomMachine] {
            try await self.run { pipeline async throws(StoreError) in try await store.pipeline(pipeline) }
        }

        nonisolated(nonsending) func run(on pool: PostgresPool) async throws(StoreError) -> [RoomMachine] {
            try await self.run { pipeline async throws(StoreError) in try await pool.pipeline(pipeline) }
        }

        private nonisolated(nonsending) func run(
            _ send: nonisolated(nonsending) (Pipeline) async throws(StoreError) -> Pipeline.Answers
        ) async throws(StoreError) -> [RoomMachine] {
            guard !self.ids.isEmpty else { return [] }
            var pipeline = Pipeline()
            let rooms = pipeline.add(RoomTable.rooms(self.ids))
            let participants = pipeline.add(RoomTable.participants(of: self.ids))
            let barred = pipeline.add(RoomTable.barred(in: self.ids))
            let codes = pipeline.add(RoomCodeTable.open(of: self.ids))
            let found = try await send(pipeline)
            let (seated, banned, open) = (try found[participants], try found[barred], try found[codes])
            return try found[rooms].map { room in
                var room = room
                room.participants = seated[room.id] ?? [:]
                room.barred = banned[room.id] ?? [:]
                room.code = open[room.id]
                return room
            }
        }
    }

    private static func rooms(_ ids: [PostgresUUID]) -> Statement<[RoomMachine]> {
        Statement(
            """
            SELECT room_id, creator_is_guest, creator, host_is_guest, host, participants_max, is_locked, revision,
                next_seat, was_accepted, link_verifier, created_at, connected_at
            FROM calls.rooms WHERE room_id = ANY (\(ids)::uuid[])
            """,
            each: { row throws(StoreError) in
                let id = UUIDText(try row.next(PostgresUUID.self))
                let (creator, host) = (try PrincipalID(&row), try PrincipalID(&row))
                let most: Int16 = try row.next()
                let isLocked: Bool = try row.next()
                let revision: Int64 = try row.next()
                let nextSeat: Int32 = try row.next()
                let wasAccepted: Bool = try row.next()
                let verifier: Bytes32? = try row.next()
                var room = RoomMachine(
                    id: id, creator: creator, createdAt: try row.next(), participantsMax: Int(most),
                    linkVerifier: verifier)
                room.host = host
                room.isLocked = isLocked
                room.revision = revision
                room.nextSeat = Int(nextSeat)
                room.wasAccepted = wasAccepted
                room.connectedAt = try row.next()
                return room
            })
    }

    private static func participants(
        of ids: [PostgresUUID]
    ) -> Statement<[UUIDText: [PrincipalID: RoomMachine.Participant]]> {
        Statement(
            """
            SELECT room_id, is_guest, participant, seat, via, joined_code, sign_key, enc_key, joined_at, node, connection,
                away_since
            FROM calls.room_participants WHERE room_id = ANY (\(ids)::uuid[])
            """,
            decode: { rows throws(StoreError) in
                var participants: [UUIDText: [PrincipalID: RoomMachine.Participant]] = [:]
                for var row in rows {
                    let room = UUIDText(try row.next(PostgresUUID.self))
                    let id = try PrincipalID(&row)
                    let seat: Int32 = try row.next()
                    guard let way = RoomParticipant.Way(rawValue: try row.next()) else { throw .undecodable(column: 4) }
                    let code: String? = try row.next()
                    let (sign, enc): (Bytes32, Bytes32) = (try row.next(), try row.next())
                    var participant = RoomMachine.Participant(
                        seat: Int(seat), via: way, joinedCode: code, signPublicKey: sign, encPublicKey: enc,
                        joinedAt: try row.next(), place: try LiveConnection.next(&row))
                    participant.awaySince = try row.next()
                    participants[room, default: [:]][id] = participant
                }
                return participants
            })
    }

    private static func barred(
        in ids: [PostgresUUID]
    ) -> Statement<[UUIDText: [PrincipalID: RoomMachine.Barred]]> {
        Statement(
            """
            SELECT room_id, is_guest, participant, code, barred_at
            FROM calls.room_barred WHERE room_id = ANY (\(ids)::uuid[])
            """,
            decode: { rows throws(StoreError) in
                var barred: [UUIDText: [PrincipalID: RoomMachine.Barred]] = [:]
                for var row in rows {
                    let room = UUIDText(try row.next(PostgresUUID.self))
                    barred[room, default: [:]][try PrincipalID(&row)] = .init(
                        code: try row.next(), since: try row.next())
                }
                return barred
            })
    }

    /// The rooms in which these have a seat, of all shares.
    static func rooms(of principals: [PrincipalID]) -> Statement<[PrincipalID: [UUIDText]]> {
        Statement(
            """
            SELECT p.is_guest, p.participant, p.room_id
            FROM unnest(\(principals.map(\.isGuest))::bool[], \(principals.map(\.storedUUID))::uuid[])
                AS g (is_guest, participant)
            JOIN calls.room_participants p ON p.participant = g.participant AND p.is_guest = g.is_guest
                AND NOT p.is_leaving
            """,
            decode: { rows throws(StoreError) in
                var rooms: [PrincipalID: [UUIDText]] = [:]
                for var row in rows {
                    rooms[try PrincipalID(&row), default: []].append(UUIDText(try row.next(PostgresUUID.self)))
                }
                return rooms
            })
    }

    /// How many rooms each of these hosts, of all shares.
    static func hosted(by principals: [PrincipalID]) -> Statement<[PrincipalID: Int]> {
        Statement(
            """
            SELECT g.is_guest, g.host, count(r.room_id)
            FROM unnest(\(principals.map(\.isGuest))::bool[], \(principals.map(\.storedUUID))::uuid[]) AS g (is_guest, host)
            JOIN calls.rooms r ON r.host = g.host AND r.host_is_guest = g.is_guest
            GROUP BY g.is_guest, g.host
            """,
            decode: { rows throws(StoreError) in
                var counts: [PrincipalID: Int] = [:]
                for var row in rows { counts[try PrincipalID(&row)] = Int(try row.next(Int64.self)) }
                return counts
            })
    }

    /// Keeps others from giving these a room or a seat until the transaction's end: both are counted.
    static func lock(_ principals: [PrincipalID]) -> SQL {
        let keys = principals.map { Int64(truncatingIfNeeded: $0.storedUUID.low ^ $0.storedUUID.high) }
        return """
            SELECT pg_advisory_xact_lock(hashtextextended('calls.rooms', p.low))
            FROM unnest(\(keys.sorted())::int8[]) AS p (low)
            """
    }

    // MARK: Writing

    /// Statements that write a batch's changes, in the required order.
    static func write(_ changes: [RoomBook.Change], at now: Timestamp) -> [SQL] {
        var statements: [SQL] = []
        let deleted = changes.filter { $0.after == nil }.compactMap { $0.before.map { PostgresUUID($0.id) } }
        if !deleted.isEmpty {
            statements += RoomCodeTable.retire(of: deleted, at: now)
            statements.append("DELETE FROM calls.rooms WHERE room_id = ANY (\(deleted)::uuid[])")
        }
        for change in changes {
            guard let after = change.after else { continue }
            if change.before.map({ !after.isStored(like: $0) }) ?? true { statements.append(Self.upsert(after)) }
            statements += Self.participants(change.before?.participants ?? [:], after.participants, of: after.id)
            statements += Self.barred(change.before?.barred ?? [:], after.barred, of: after.id)
            statements += RoomCodeTable.write(change.before?.code, after.code, of: after.id, at: now)
        }
        return statements
    }

    private static func upsert(_ r: RoomMachine) -> SQL {
        """
        INSERT INTO calls.rooms (room_id, share, creator_is_guest, creator, host_is_guest, host, participants_max,
            is_locked, revision, next_seat, was_accepted, link_verifier, created_at, connected_at, expires_at)
        VALUES (\(PostgresUUID(r.id)), \(Int16(RoomShare(of: r.id).index)), \(r.creator.isGuest),
            \(r.creator.storedUUID), \(r.host.isGuest), \(r.host.storedUUID), \(Int16(r.participantsMax)),
            \(r.isLocked), \(r.revision), \(Int32(r.nextSeat)), \(r.wasAccepted), \(r.linkVerifier), \(r.createdAt),
            \(r.connectedAt), \(r.expiresAt))
        ON CONFLICT (room_id) DO UPDATE SET
            host_is_guest = excluded.host_is_guest, host = excluded.host, participants_max = excluded.participants_max,
            is_locked = excluded.is_locked, revision = excluded.revision, next_seat = excluded.next_seat,
            was_accepted = excluded.was_accepted, connected_at = excluded.connected_at, expires_at = excluded.expires_at
        """
    }

    private static func participants(
        _ before: [PrincipalID: RoomMachine.Participant], _ after: [PrincipalID: RoomMachine.Participant],
        of id: UUIDText
    ) -> [SQL] {
        var statements: [SQL] = []
        let gone = before.keys.filter { after[$0] == nil }
        if !gone.isEmpty { statements.append(Self.delete(gone, from: .participants, of: id)) }
        let changed = after.filter { !(before[$0.key].map($0.value.isStored) ?? false) }.map { $0 }
        guard !changed.isEmpty else { return statements }
        let rows = changed.map(\.value)
        statements.append(
            """
            INSERT INTO calls.room_participants AS p (room_id, is_guest, participant, seat, via, joined_code, sign_key,
                enc_key, joined_at, node, connection, away_since)
            SELECT \(PostgresUUID(id)), * FROM unnest(
                \(changed.map(\.key.isGuest))::bool[], \(changed.map(\.key.storedUUID))::uuid[],
                \(rows.map { Int32($0.seat) })::int4[], \(rows.map(\.via.rawValue))::text[],
                \(rows.map(\.joinedCode))::text[], \(rows.map(\.signPublicKey))::bytea[],
                \(rows.map(\.encPublicKey))::bytea[], \(rows.map(\.joinedAt))::timestamptz[],
                \(rows.map { $0.place?.storedNode })::int8[], \(rows.map { $0.place?.storedConnection })::int8[],
                \(rows.map(\.awaySince))::timestamptz[])
            ON CONFLICT (room_id, is_guest, participant) DO UPDATE SET
                seat = excluded.seat, via = excluded.via, joined_code = excluded.joined_code,
                joined_at = excluded.joined_at, node = excluded.node, connection = excluded.connection,
                away_since = excluded.away_since, is_leaving = p.is_leaving AND p.seat = excluded.seat
            """)
        return statements
    }

    private static func barred(
        _ before: [PrincipalID: RoomMachine.Barred], _ after: [PrincipalID: RoomMachine.Barred], of id: UUIDText
    ) -> [SQL] {
        var statements: [SQL] = []
        let gone = before.keys.filter { after[$0] == nil }
        if !gone.isEmpty { statements.append(Self.delete(gone, from: .barred, of: id)) }
        let added = after.filter { before[$0.key] != $0.value }.map { $0 }
        guard !added.isEmpty else { return statements }
        statements.append(
            """
            INSERT INTO calls.room_barred (room_id, is_guest, participant, code, barred_at)
            SELECT \(PostgresUUID(id)), * FROM unnest(
                \(added.map(\.key.isGuest))::bool[], \(added.map(\.key.storedUUID))::uuid[],
                \(added.map(\.value.code))::text[], \(added.map(\.value.since))::timestamptz[])
            ON CONFLICT (room_id, is_guest, participant) DO UPDATE SET
                code = excluded.code, barred_at = excluded.barred_at
            """)
        return statements
    }

    /// Deletes the rows of these principals in this room.
    private static func delete(_ principals: [PrincipalID], from table: Table, of id: UUIDText) -> SQL {
        switch table {
        case .participants:
            """
            DELETE FROM calls.room_participants p
            USING unnest(\(principals.map(\.isGuest))::bool[], \(principals.map(\.storedUUID))::uuid[]) AS g (is_guest, id)
            WHERE p.room_id = \(PostgresUUID(id)) AND p.is_guest = g.is_guest AND p.participant = g.id
            """
        case .barred:
            """
            DELETE FROM calls.room_barred p
            USING unnest(\(principals.map(\.isGuest))::bool[], \(principals.map(\.storedUUID))::uuid[]) AS g (is_guest, id)
            WHERE p.room_id = \(PostgresUUID(id)) AND p.is_guest = g.is_guest AND p.participant = g.id
            """
        }
    }

    private enum Table {
        case participants, barred
    }

    /// Says in the tables that somebody leaves these rooms, so that it is not lost with a Job.
    static func leave(_ rooms: [UUIDText], _ participant: PrincipalID) -> SQL {
        """
        UPDATE calls.room_participants SET is_leaving = true
        WHERE room_id = ANY (\(rooms.map { PostgresUUID($0) })::uuid[]) AND is_guest = \(participant.isGuest)
            AND participant = \(participant.storedUUID)
        """
    }
}

extension RoomMachine {
    /// Whether its own row need not be written.
    fileprivate func isStored(like other: RoomMachine) -> Bool {
        self.host == other.host && self.participantsMax == other.participantsMax && self.isLocked == other.isLocked
            && self.revision == other.revision && self.nextSeat == other.nextSeat
            && self.wasAccepted == other.wasAccepted && self.connectedAt == other.connectedAt
            && self.expiresAt == other.expiresAt
    }
}

extension RoomMachine.Participant {
    fileprivate func isStored(like other: RoomMachine.Participant) -> Bool {
        self.place == other.place && self.awaySince == other.awaySince && self.seat == other.seat
    }
}
