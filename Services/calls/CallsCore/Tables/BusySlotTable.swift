import Contract
import Store

/// The only code that reads or writes `calls.lines` and `calls.rings`.
enum BusySlotTable {
    /// The slots of these people, held until the end of the transaction.
    static func lock(_ identities: [WhisperID]) -> Statement<[WhisperID: BusySlots.Slot]> {
        Statement(
            """
            SELECT identity, wake_id, is_answered, seen_at FROM calls.lines
            WHERE identity = ANY (\(identities)::int8[]) ORDER BY identity FOR UPDATE
            """,
            decode: { rows throws(StoreError) in
                var slots: [WhisperID: BusySlots.Slot] = [:]
                for var row in rows {
                    slots[try row.next()] = BusySlots.Slot(
                        call: try UUIDText(row.next(PostgresUUID.self)), isAnswered: try row.next(),
                        seenAt: try row.next())
                }
                return slots
            })
    }

    /// The calls that ring for these people, locked until the end of the transaction. Always run after `lock`.
    static func lockRings(_ identities: [WhisperID]) -> Statement<[WhisperID: UUIDText]> {
        Statement(
            """
            SELECT identity, wake_id FROM calls.rings
            WHERE identity = ANY (\(identities)::int8[]) ORDER BY identity FOR UPDATE
            """,
            decode: { rows throws(StoreError) in
                var rings: [WhisperID: UUIDText] = [:]
                for var row in rows { rings[try row.next()] = try UUIDText(row.next(PostgresUUID.self)) }
                return rings
            })
    }

    /// Which of these calls hold a slot or a ring of both sides.
    static func whole(among calls: [UUIDText]) -> Statement<Set<UUIDText>> {
        let calls = calls.map { PostgresUUID($0) }
        return Statement(
            """
            SELECT wake_id FROM (
                SELECT wake_id FROM calls.lines WHERE wake_id = ANY (\(calls)::uuid[])
                UNION ALL SELECT wake_id FROM calls.rings WHERE wake_id = ANY (\(calls)::uuid[])) AS held
            GROUP BY wake_id HAVING count(*) = 2
            """,
            decode: { rows throws(StoreError) in
                var calls: Set<UUIDText> = []
                for var row in rows { calls.insert(try UUIDText(row.next(PostgresUUID.self))) }
                return calls
            })
    }

    /// Everything of calls that are over goes.
    static func release(_ calls: [UUIDText]) -> [SQL] {
        let calls = calls.map { PostgresUUID($0) }
        return [
            "DELETE FROM calls.lines WHERE wake_id = ANY (\(calls)::uuid[])",
            "DELETE FROM calls.rings WHERE wake_id = ANY (\(calls)::uuid[])",
        ]
    }

    static func remove(_ identities: [WhisperID]) -> SQL {
        "DELETE FROM calls.lines WHERE identity = ANY (\(identities)::int8[])"
    }

    /// - Returns: how many were added; fewer than given if somebody else was faster.
    static func add(_ slots: [(identity: WhisperID, slot: BusySlots.Slot)]) -> Statement<Int> {
        Statement(
            affecting: """
                INSERT INTO calls.lines (identity, wake_id, is_answered, seen_at)
                SELECT g.* FROM unnest(
                    \(slots.map(\.identity))::int8[], \(slots.map { PostgresUUID($0.slot.call) })::uuid[],
                    \(slots.map(\.slot.isAnswered))::bool[], \(slots.map(\.slot.seenAt))::timestamptz[])
                    AS g (identity, wake_id, is_answered, seen_at)
                ORDER BY g.identity ON CONFLICT (identity) DO NOTHING
                """)
    }

    static func removeRings(_ identities: [WhisperID]) -> SQL {
        "DELETE FROM calls.rings WHERE identity = ANY (\(identities)::int8[])"
    }

    /// - Returns: how many were added; fewer than given if somebody else was faster.
    static func addRings(_ rings: [(identity: WhisperID, call: UUIDText)]) -> Statement<Int> {
        Statement(
            affecting: """
                INSERT INTO calls.rings (identity, wake_id)
                SELECT g.* FROM unnest(
                    \(rings.map(\.identity))::int8[], \(rings.map { PostgresUUID($0.call) })::uuid[])
                    AS g (identity, wake_id)
                ORDER BY g.identity ON CONFLICT (identity) DO NOTHING
                """)
    }

    /// These are connected now.
    static func seen(_ identities: [WhisperID], at now: Timestamp) -> SQL {
        "UPDATE calls.lines SET seen_at = \(now) WHERE identity = ANY (\(identities)::int8[])"
    }
}
