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

    /// Removes a day's rows that name these identities, in one read of its table.
    /// - Returns: identities with mail that waits for others. Its rows stay.
    static func remove(_ open: [Open], of day: Int32) -> Statement<[WhisperID]> {
        let (all, keeping) = (open.map(\.identity), open.filter { !$0.withdraws }.map(\.identity))
        return Statement(
            """
            WITH named AS MATERIALIZED (
                SELECT message_id, sender, recipient,
                    status = 0 AND sender = ANY (\(keeping)::int8[]) AND NOT recipient = ANY (\(all)::int8[]) AS waits
                FROM router.ledger
                WHERE day = \(day) AND (sender = ANY (\(all)::int8[]) OR recipient = ANY (\(all)::int8[]))
            ), gone AS (
                DELETE FROM router.ledger l USING named n
                WHERE l.day = \(day) AND l.message_id = n.message_id AND l.sender = n.sender
                    AND l.recipient = n.recipient AND NOT n.waits
            )
            SELECT DISTINCT sender FROM named WHERE waits
            """,
            each: { row throws(StoreError) in try row.next() })
    }

    static func finish(_ erasure: UUIDText) -> SQL {
        "SELECT auth.finish_erasure(\(PostgresUUID(erasure)), 'ledger')"
    }
}
