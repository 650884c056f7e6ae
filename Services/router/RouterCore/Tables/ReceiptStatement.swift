import ClusterContract
import Contract
import Store

/// Honours receipts: the ledger's status rises, delivered mail leaves the mailbox, and the sender's outcome is stored, all
/// or nothing. Receipts about somebody else's message, of an older session, or that say nothing new change nothing.
///
/// Two receipts about the same message must not be given together. It locks rows of the ledger first, then those of the mailbox, as
/// `MailboxTable.expire` does.
enum ReceiptStatement {
    struct Result {
        /// Which of the receipts given, from 0.
        var position: Int
        /// The mail's number.
        var number: Int64
        /// The mail was still in the mailbox.
        var wasPending: Bool
        var outcome: Int64
        /// The message id in its sender's spelling.
        var idCase: UInt32
        /// The group, if it is group mail.
        var group: UUIDText?
    }

    static func statement(for reports: [ReceiptReport]) -> Statement<[Result]> {
        let messageIDs = reports.map { PostgresUUID($0.messageID) }
        let recipients = reports.map(\.recipient.identity)
        let epochs = reports.map(\.recipient.epoch.value)
        let senders = reports.map(\.sender)
        let statuses = reports.map { Int16($0.status.rawValue) }
        let times = reports.map(\.timestamp.milliseconds)
        return Statement(
            """
            WITH honoured AS MATERIALIZED (
                SELECT g.*, l.day, l.number, l.status AS old, l.id_case, l.group_id,
                    nextval('router.outcome_numbers') AS outcome
                FROM unnest(\(messageIDs)::uuid[], \(recipients)::int8[], \(epochs)::int8[], \(senders)::int8[],
                        \(statuses)::int2[], \(times)::int8[])
                    WITH ORDINALITY AS g (message_id, recipient, epoch, sender, status, at, position)
                JOIN auth.mail_identities i ON i.whisper_id = g.recipient AND i.epoch = g.epoch
                -- A receipt does not say when its message was signed. Most speak of today's: then no other table is looked into.
                CROSS JOIN LATERAL (
                    SELECT day, number, status, id_case, group_id FROM router.ledger
                    WHERE message_id = g.message_id AND sender = g.sender AND recipient = g.recipient
                        AND day = router.day(now())
                    UNION ALL
                    SELECT day, number, status, id_case, group_id FROM router.ledger
                    WHERE message_id = g.message_id AND sender = g.sender AND recipient = g.recipient
                        AND day = router.day(now()) - 1
                    UNION ALL
                    SELECT day, number, status, id_case, group_id FROM router.ledger
                    WHERE message_id = g.message_id AND sender = g.sender AND recipient = g.recipient
                        AND (day < router.day(now()) - 1 OR day > router.day(now()))
                    LIMIT 1
                ) l
                WHERE l.status < g.status
            ), marked AS (
                UPDATE router.ledger l SET status = h.status, status_at = now(),
                    delivered_at = CASE l.status WHEN 1 THEN l.status_at END
                FROM honoured h
                WHERE l.message_id = h.message_id AND l.sender = h.sender AND l.recipient = h.recipient AND l.day = h.day
                    -- Asked again of a row that another transaction has changed meanwhile.
                    AND l.status < h.status
                RETURNING h.*
            ), removed AS (
                DELETE FROM router.mailbox m USING marked h
                WHERE m.recipient = h.recipient AND m.number = h.number AND h.old = 0
                    -- Where it was stored, or where it is kept.
                    AND (m.segment = router.segment(h.number) OR m.segment = 3)
            ), told AS (
                INSERT INTO router.outcomes
                    (sender, number, kind, id_case, message_id, recipient, group_id, at, created_at, segment)
                SELECT sender, outcome, status, id_case, message_id, recipient, group_id, at, now(), router.segment(outcome)
                FROM marked
                -- An erased sender is told nothing.
                WHERE EXISTS (SELECT FROM auth.mail_identities i WHERE i.whisper_id = marked.sender)
            )
            SELECT position - 1, number, old = 0, outcome, id_case, group_id FROM marked ORDER BY outcome
            """, each: Self.result)
    }

    private static func result(_ row: inout Row) throws(StoreError) -> Result {
        Result(
            position: Int(try row.next(Int64.self)), number: try row.next(), wasPending: try row.next(),
            outcome: try row.next(), idCase: UInt32(bitPattern: try row.next(Int32.self)),
            group: try row.next(PostgresUUID?.self).map { UUIDText($0) })
    }
}
