import ClusterContract
import Contract
import Store

/// An outcome, and who is to hear of it.
struct SenderOutcome {
    var sender: WhisperID
    var outcome: Outcome
}

/// `router.outcomes`: what senders have yet to hear. `ReceiptStatement` and `MailboxTable.expire` add to it.
enum OutcomesTable {
    /// The oldest outcomes of each sender.
    static func pending(of senders: [WhisperID]) -> Statement<[SenderOutcome]> {
        Statement(
            """
            SELECT o.sender, o.number, o.kind, o.id_case, o.message_id, o.recipient, o.group_id, o.at
            FROM unnest(\(senders)::int8[]) AS g (sender)
            CROSS JOIN LATERAL (
                SELECT * FROM router.outcomes WHERE sender = g.sender ORDER BY number
                LIMIT \(Int64(ClusterLimits.outcomesPerBindMax))
            ) o
            ORDER BY o.number
            """, each: Self.outcome)
    }

    /// Reads `sender, number, kind, id_case, message_id, recipient, group_id, at`.
    static func outcome(_ row: inout Row) throws(StoreError) -> SenderOutcome {
        let sender: WhisperID = try row.next()
        let number: Int64 = try row.next()
        let kind = UInt8(truncatingIfNeeded: try row.next(Int16.self))
        let idCase = UInt32(bitPattern: try row.next(Int32.self))
        let messageID: PostgresUUID = try row.next()
        let recipient: WhisperID = try row.next()
        let group: PostgresUUID? = try row.next()
        let at: Int64 = try row.next()
        return SenderOutcome(
            sender: sender,
            outcome: Outcome(
                // The column holds nothing else.
                number: number, kind: Outcome.Kind(rawValue: kind)!,
                messageID: UUIDText(high: messageID.high, low: messageID.low, upperCase: idCase),
                peer: recipient, group: group.map { UUIDText($0) }, timestamp: Timestamp(milliseconds: at)))
    }

    /// Outcomes with these numbers that nobody has confirmed.
    static func numbered(after first: Int64, through last: Int64) -> Statement<[SenderOutcome]> {
        Statement(
            """
            SELECT sender, number, kind, id_case, message_id, recipient, group_id, at FROM router.outcomes
            WHERE number > \(first) AND number <= \(last) ORDER BY number LIMIT \(RouterLimits.sweepRowsMax)
            """, each: Self.outcome)
    }

    /// These have reached their client.
    static func remove(_ numbers: [Int64]) -> SQL {
        """
        DELETE FROM router.outcomes o USING unnest(\(numbers)::int8[]) AS g (number)
        WHERE o.number = g.number AND (o.segment = router.segment(g.number) OR o.segment = 3)
        """
    }

    /// Removes the oldest outcomes, if they are older than this: numbers grow with time, and the young segments have no
    /// other index to use. Outcomes that are just being confirmed are left to their batch, which must never wait for a
    /// sweep that waits for it.
    static func expire(olderThan age: Duration) -> SQL {
        """
        DELETE FROM router.outcomes WHERE number IN (
            SELECT o.number FROM (
                SELECT number FROM router.outcomes ORDER BY number LIMIT \(RouterLimits.sweepRowsMax)) oldest
            JOIN router.outcomes o ON o.number = oldest.number
            WHERE o.created_at < now() - \(age.milliseconds) * interval '1 millisecond'
            FOR UPDATE OF o SKIP LOCKED)
        """
    }
}
