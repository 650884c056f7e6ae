import Contract
import Store

/// Accepts messages: ledger and mailbox rows in one statement, in the order given (contract §3, steps 7 to 11).
///
/// Messages of one recipient are accepted by one router at a time, the owner of the partition; the statement relies on
/// that. Two messages with the same key must not be given together, but of different sessions: one of those at most is live.
enum AcceptStatement {
    /// What became of one message.
    enum Verdict: Int16 {
        case accepted = 0
        /// The session is not the identity's live one.
        case stale = 1
        case senderBanned = 2
        /// Accepted before; nothing was stored.
        case repeated = 3
        case untimely = 4
        case unknownRecipient = 5
        case recipientBanned = 6
        case overRate = 7
        case unknownGroup = 8
        /// Sender or recipient is not in the group now.
        case notMembers = 9
        case unknownAttachment = 10
        /// It was uploaded by somebody else.
        case foreignAttachment = 11
    }

    /// What becomes of messages that point to an attachment. Batches without one get a statement that does not name it.
    enum Attachments {
        case none
        /// Linked by the function that attachments grants, in this very statement: the last check, so that only a message
        /// that is accepted links.
        case linked
        /// The schema of attachments is not there (yet): nobody can have uploaded anything.
        case unknown

        fileprivate var verdict: StaticString {
            switch self {
            case .none: "0"
            case .linked:
                """
                CASE WHEN g.attachment_key IS NULL THEN 0 ELSE (ARRAY[0, 10, 11])[
                    1 + attachments.link(g.attachment_key, g.sender, g.recipient, g.message_id, now())] END
                """
            case .unknown: "CASE WHEN g.attachment_key IS NULL THEN 0 ELSE 10 END"
            }
        }
    }

    /// Whether attachments can be linked.
    static let canLink: SQL = """
        SELECT EXISTS (
            SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE n.nspname = 'attachments' AND p.proname = 'link')
        """

    struct Result {
        var verdict: Verdict
        /// Of the mail, if it was accepted now.
        var number: Int64?
    }

    static func sql(_ envelopes: [AcceptEnvelope], attachments: Attachments = .none, at now: Timestamp) -> SQL {
        let messageIDs = envelopes.map { PostgresUUID(high: $0.messageID.high, low: $0.messageID.low) }
        let idCases = envelopes.map { Int32(bitPattern: $0.messageID.upperCase) }
        let senders = envelopes.map(\.sender.identity)
        let epochs = envelopes.map(\.sender.epoch.value)
        let recipients = envelopes.map(\.to)
        let groups = envelopes.map { $0.group.map { PostgresUUID($0) } }
        let payloads = envelopes.map(\.payload)
        let overRate = envelopes.map { $0.overRateFor != nil }
        let hasGroups = envelopes.contains { $0.group != nil }
        // Shorter than the others, which fills up with NULLs.
        let keys: [String?] = if case .none = attachments { [] } else { envelopes.map(\.attachmentKey) }
        let timely = envelopes.map { $0.timestamp.isWithinSkew(of: $0.receivedAt) }
        return """
            WITH judged AS MATERIALIZED (
                SELECT a.*, CASE WHEN a.verdict = 0 THEN nextval('router.mail_numbers') END AS number
                FROM (
                    SELECT g.*, CASE
                        WHEN s.epoch IS DISTINCT FROM g.epoch THEN 1
                        WHEN s.is_banned THEN 2
                        WHEN l.number IS NOT NULL THEN 3
                        WHEN NOT g.is_timely THEN 4
                        WHEN g.is_over_rate THEN 7
                        WHEN r.whisper_id IS NULL THEN 5
                        \(unsafeText: hasGroups ? Self.groupVerdicts : "")
                        WHEN r.is_banned THEN 6
                        ELSE \(unsafeText: attachments.verdict) END AS verdict
                    FROM unnest(\(messageIDs)::uuid[], \(idCases)::int4[], \(senders)::int8[], \(epochs)::int8[],
                            \(recipients)::int8[], \(groups)::uuid[], \(payloads)::bytea[], \(timely)::bool[],
                            \(overRate)::bool[], \(keys)::text[])
                        WITH ORDINALITY
                        AS g (message_id, id_case, sender, epoch, recipient, group_id, payload, is_timely, is_over_rate,
                            attachment_key, position)
                    LEFT JOIN auth.mail_identities s ON s.whisper_id = g.sender
                    LEFT JOIN auth.mail_identities r ON r.whisper_id = g.recipient
                    LEFT JOIN router.ledger l
                        ON l.message_id = g.message_id AND l.sender = g.sender AND l.recipient = g.recipient
                    ORDER BY g.position
                ) a
            ), entered AS (
                INSERT INTO router.ledger (message_id, sender, recipient, number, accepted_at, id_case, group_id)
                SELECT message_id, sender, recipient, number, \(now), id_case, group_id FROM judged WHERE verdict = 0
            ), stored AS (
                INSERT INTO router.mailbox (recipient, number, sender, message_id, accepted_at, id_case, payload, segment)
                SELECT recipient, number, sender, message_id, \(now), id_case, payload, router.segment(number)
                FROM judged WHERE verdict = 0
            )
            SELECT verdict::int2, number FROM judged ORDER BY position
            """
    }

    /// Batches without group mail do without: preparing to look costs as much as looking. Not joined: a join is paid for by every
    /// message, and EXISTS may be planned as a reading of the whole table.
    private static let groupVerdicts: StaticString = """
        WHEN g.group_id IS NOT NULL
            AND (SELECT x.revision FROM router.groups x WHERE x.group_id = g.group_id) IS NULL THEN 8
        WHEN g.group_id IS NOT NULL AND (
            (SELECT m.role FROM router.group_members m
                WHERE m.group_id = g.group_id AND m.member = g.sender) IS NULL
            OR (SELECT m.role FROM router.group_members m
                WHERE m.group_id = g.group_id AND m.member = g.recipient) IS NULL) THEN 9
        """

    static func results(_ rows: Rows) throws(StoreError) -> [Result] {
        var results: [Result] = []
        results.reserveCapacity(rows.count)
        for var row in rows {
            let verdict: Int16 = try row.next()
            // The statement knows no other numbers.
            results.append(Result(verdict: Verdict(rawValue: verdict)!, number: try row.next(Int64?.self)))
        }
        return results
    }
}
