import Contract
import Store

/// Rows of the ledger that name erased identities, and the erasures that wait for them to go.
enum LedgerErasure {
    struct Open {
        var id: UUIDText
        var identity: WhisperID
        var withdraws: Bool
    }

    /// Erasures that were decided at least so long ago, and wait for a walk.
    static func open(for age: Duration) -> Statement<[Open]> {
        Statement(
            """
            SELECT erasure_id, whisper_id, withdraws FROM auth.erasures_open
            WHERE NOT 'ledger' = ANY (done) AND decided_at <= \(StoreTime.now - age)
            ORDER BY decided_at LIMIT \(Int64(RouterLimits.erasuresPerWalk))
            """,
            each: { row throws(StoreError) in
                Open(
                    id: UUIDText(try row.next(PostgresUUID.self)), identity: try row.next(), withdraws: try row.next())
            })
    }

    /// Days that have a table, and the one of rows of no day.
    static let days = Statement<[Int32]>(
        "SELECT day FROM router.ledger_days UNION ALL SELECT -1 ORDER BY day",
        each: { row throws(StoreError) in try row.next() })

    static let lock = Statement<Bool>(
        value: "SELECT pg_try_advisory_xact_lock(hashtextextended('router.ledger_walk', 0))")

    /// Removes a portion of a day's rows that name these identities. A row under a lock, and one of mail that waits, stays.
    /// - Returns: how many rows went.
    static func remove(_ open: [Open], of day: Int32) -> SQL {
        let (all, keeping) = (open.map(\.identity), open.filter { !$0.withdraws }.map(\.identity))
        return """
            DELETE FROM router.ledger l USING (
                SELECT message_id, sender, recipient FROM router.ledger
                -- Postgres makes hash tables of these. An array it would search from its beginning, for each row of a day.
                WHERE day = \(day) AND (sender IN (SELECT unnest(\(all)::int8[])) OR recipient IN (SELECT unnest(\(all)::int8[])))
                    AND NOT (status = 0 AND sender IN (SELECT unnest(\(keeping)::int8[]))
                        AND recipient NOT IN (SELECT unnest(\(all)::int8[])))
                LIMIT \(Int64(ErasureLimits.portion)) FOR UPDATE SKIP LOCKED) named
            WHERE l.day = \(day) AND l.message_id = named.message_id AND l.sender = named.sender
                AND l.recipient = named.recipient
            """
    }

    /// Identities that a day's rows still name.
    static func left(_ open: [Open], of day: Int32) -> Statement<[WhisperID]> {
        let all = open.map(\.identity)
        return Statement(
            """
            SELECT DISTINCT named.identity FROM (
                SELECT sender, recipient FROM router.ledger WHERE day = \(day)
                    AND (sender IN (SELECT unnest(\(all)::int8[])) OR recipient IN (SELECT unnest(\(all)::int8[])))
            ) l, LATERAL unnest(ARRAY[l.sender, l.recipient]) AS named (identity)
            WHERE named.identity IN (SELECT unnest(\(all)::int8[]))
            """,
            each: { row throws(StoreError) in try row.next() })
    }

    static func finish(_ erasure: UUIDText) -> SQL {
        "SELECT auth.finish_erasure(\(PostgresUUID(erasure)), 'ledger')"
    }
}
