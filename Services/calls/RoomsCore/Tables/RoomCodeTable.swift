import Contract
import Participants
import Store

/// The only code that reads or writes `calls.room_codes` and `calls.room_misses`.
enum RoomCodeTable {
    /// The codes that open these rooms.
    static func open(of ids: [PostgresUUID]) -> Statement<[UUIDText: RoomMachine.Code]> {
        Statement(
            """
            SELECT room_id, code, expires_at, wrong_pins, pin_salt, pin_hash FROM calls.room_codes
            WHERE room_id = ANY (\(ids)::uuid[]) AND retired_at IS NULL
            """,
            decode: { rows throws(StoreError) in
                var codes: [UUIDText: RoomMachine.Code] = [:]
                for var row in rows {
                    let room = UUIDText(try row.next(PostgresUUID.self))
                    guard let code = JoinCode(try row.next(String.self)) else { throw .undecodable(column: 1) }
                    let expiresAt: Timestamp = try row.next()
                    let wrongPins: Int16 = try row.next()
                    let salt: [UInt8]? = try row.next()
                    let hash: Bytes32? = try row.next()
                    var pin: RoomMachine.Code.Pin?
                    if let salt, let hash { pin = .init(salt: salt, hash: hash) }
                    codes[room] = .init(code: code, expiresAt: expiresAt, pin: pin, wrongPins: Int(wrongPins))
                }
                return codes
            })
    }

    /// The rooms of these codes, retired ones too: whoever joined by one comes back by it.
    static func rooms(of codes: [JoinCode]) -> Statement<[JoinCode: UUIDText]> {
        Statement(
            """
            SELECT code, room_id FROM calls.room_codes
            WHERE code = ANY (\(codes.map(\.text))::text[]) AND room_id IS NOT NULL
            """,
            decode: { rows throws(StoreError) in
                var rooms: [JoinCode: UUIDText] = [:]
                for var row in rows {
                    guard let code = JoinCode(try row.next(String.self)) else { throw .undecodable(column: 0) }
                    rooms[code] = UUIDText(try row.next(PostgresUUID.self))
                }
                return rooms
            })
    }

    /// The codes among these that are not free.
    static func taken(of codes: [JoinCode]) -> Statement<Set<JoinCode>> {
        Statement(
            "SELECT code FROM calls.room_codes WHERE code = ANY (\(codes.map(\.text))::text[])",
            decode: { rows throws(StoreError) in
                var taken: Set<JoinCode> = []
                for var row in rows {
                    if let code = JoinCode(try row.next(String.self)) { taken.insert(code) }
                }
                return taken
            })
    }

    /// How many codes of each length open a room or rest.
    static var counts: Statement<[Int: Int]> {
        Statement(
            "SELECT length(code), count(*) FROM calls.room_codes GROUP BY 1",
            decode: { rows throws(StoreError) in
                var counts: [Int: Int] = [:]
                for var row in rows {
                    let digits = Int(try row.next(Int32.self))
                    counts[digits] = Int(try row.next(Int64.self))
                }
                return counts
            })
    }

    /// Statements that write a batch's change of a room's code.
    static func write(
        _ before: RoomMachine.Code?, _ after: RoomMachine.Code?, of room: UUIDText, at now: Timestamp
    ) -> [SQL] {
        guard before != after else { return [] }
        guard before?.code != after?.code else {
            return [
                """
                UPDATE calls.room_codes SET wrong_pins = \(Int16(after?.wrongPins ?? 0))
                WHERE room_id = \(PostgresUUID(room)) AND retired_at IS NULL
                """
            ]
        }
        var statements = before == nil ? [] : self.retire(of: [PostgresUUID(room)], at: now)
        if let after {
            statements.append(
                """
                INSERT INTO calls.room_codes (code, room_id, pin_salt, pin_hash, expires_at)
                VALUES (\(after.code.text), \(PostgresUUID(room)), \(after.pin?.salt), \(after.pin?.hash),
                    \(after.expiresAt))
                """)
        }
        return statements
    }

    static func retire(of rooms: [PostgresUUID], at now: Timestamp) -> [SQL] {
        [
            """
            UPDATE calls.room_codes SET retired_at = \(now), pin_salt = NULL, pin_hash = NULL
            WHERE room_id = ANY (\(rooms)::uuid[]) AND retired_at IS NULL
            """
        ]
    }

    // MARK: Guesses

    static func miss(_ origins: [UInt64]) -> SQL {
        """
        INSERT INTO calls.room_misses (missed_at, origin)
        SELECT now(), * FROM unnest(\(origins.map { Int64(bitPattern: $0) })::int8[])
        """
    }

    /// The misses of all processes that count now (contract §15.3).
    static var guesses: Statement<RoomFacts.Guesses?> {
        let window = RoomLimits.missWindow.components.seconds
        return Statement(
            """
            SELECT count(*), count(DISTINCT origin), coalesce((
                SELECT ceil(1000 * extract(epoch FROM missed_at + \(window) * interval '1 second' - now()))::int8
                FROM calls.room_misses ORDER BY missed_at DESC OFFSET \(Int64(RoomLimits.missesMax - 1)) LIMIT 1), 0)
            FROM calls.room_misses WHERE missed_at > now() - \(window) * interval '1 second'
            """,
            first: { row throws(StoreError) in
                RoomFacts.Guesses(
                    misses: Int(try row.next(Int64.self)), origins: Int(try row.next(Int64.self)),
                    milliseconds: try row.next())
            })
    }

    /// Deletes what was kept long enough: retired codes, and misses that no longer count. Expired codes are retired.
    static var sweep: [SQL] {
        [
            """
            UPDATE calls.room_codes SET retired_at = expires_at, pin_salt = NULL, pin_hash = NULL
            WHERE retired_at IS NULL AND expires_at < now() - interval '60 seconds'
            """,
            """
            DELETE FROM calls.room_codes
            WHERE retired_at < now() - \(RoomLimits.codeRest.components.seconds) * interval '1 second'
            """,
            """
            DELETE FROM calls.room_misses
            WHERE missed_at < now() - \(2 * RoomLimits.missWindow.components.seconds) * interval '1 second'
            """,
        ]
    }
}
