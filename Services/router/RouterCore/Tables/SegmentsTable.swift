import Contract
import Store

/// The segments of `router.mailbox` and `router.outcomes`: rows are written into three young ones in turn, by their number; what
/// is still there when a segment's turn comes near moves to the kept one, and the segment is emptied as a whole.
enum SegmentsTable {
    enum Parent: String, CaseIterable {
        case mailbox, outcomes
    }

    struct Turn {
        var parent: Parent
        /// The last number drawn, by whomever.
        var last: Int64
        /// The segment whose turn comes next: nobody writes into it now, and all that is in it is old.
        var next: Int16
        /// There is something in it, or was.
        var isUsed: Bool
    }

    static let turns = Statement<[Turn]>(
        """
        SELECT t.parent, t.last, t.next, pg_relation_size(format('router.%I', t.parent || '_' || t.next)::regclass) > 0
        FROM (
            SELECT parent, last, ((router.segment(last) + 1) % 3)::int2 AS next FROM (
                SELECT 'mailbox' AS parent, last_value AS last FROM router.mail_numbers
                UNION ALL SELECT 'outcomes', last_value FROM router.outcome_numbers) numbers
        ) t
        """,
        each: { row throws(StoreError) in
            let parent: String = try row.next()
            // The statement names no others.
            return Turn(
                parent: Parent(rawValue: parent)!, last: try row.next(), next: try row.next(), isUsed: try row.next())
        })

    /// Moves rows of these identities from a young segment to the kept one. To be asked by the owner of the identities' partition
    /// on the connection that honours their receipts: an update that moves a row fails a deletion that waits for it.
    /// - Returns: how many were moved, at most `RouterLimits.keptAtOnceMax`.
    static func keep(_ parent: Parent, segment: Int16, from first: Int64, through last: Int64) -> Statement<Int64> {
        switch parent {
        case .mailbox:
            Statement(
                value: """
                    WITH moved AS (
                        UPDATE router.mailbox m SET segment = 3 FROM (
                            SELECT recipient, number FROM router.mailbox
                            WHERE segment = \(segment) AND recipient BETWEEN \(first) AND \(last) LIMIT \(RouterLimits.keptAtOnceMax)
                        ) old
                        WHERE m.segment = \(segment) AND m.recipient = old.recipient AND m.number = old.number
                        RETURNING 1
                    ) SELECT count(*) FROM moved
                    """)
        case .outcomes:
            Statement(
                value: """
                    WITH moved AS (
                        UPDATE router.outcomes o SET segment = 3 FROM (
                            SELECT number FROM router.outcomes
                            WHERE segment = \(segment) AND sender BETWEEN \(first) AND \(last) LIMIT \(RouterLimits.keptAtOnceMax)
                        ) old
                        WHERE o.segment = \(segment) AND o.number = old.number
                        RETURNING 1
                    ) SELECT count(*) FROM moved
                    """)
        }
    }

    /// - Returns: whether the segment is empty now. It is not if it holds rows, or somebody has it in use for long.
    static func recycle(_ parent: Parent, segment: Int16) -> Statement<Bool> {
        Statement(value: "SELECT router.recycle(\(parent.rawValue), \(segment))")
    }
}
