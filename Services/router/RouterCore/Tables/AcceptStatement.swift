import ClusterContract
import Contract
import Store

/// Accepts messages: ledger and mailbox rows in one statement, in the order given (contract §3, steps 7 to 11).
///
/// Messages of one recipient are accepted by one router at a time, the owner of the partition; the statement relies on
/// that. Two messages with the same key must not be given together, but of different sessions: one of those at most is live.
enum AcceptStatement {
    /// The verdict on one message.
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
        /// The key that the signature was checked with is not the sender's: whoever wrote the Job made it up.
        case foreignKey = 12
        /// The recipient's mailbox holds all that it may; of this sender; of all senders who are not its peers (contract §13a).
        case mailboxFull = 13
        case strangerFull = 14
        case strangersFull = 15
        /// All mailboxes together hold what they may of senders without any peer (contract §13b).
        case everyStrangerFull = 16
    }

    /// How to judge messages that point to an attachment. Batches without one get a statement that does not name it.
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
    static let canLink = Statement<Bool>(
        value: """
            SELECT EXISTS (
                SELECT FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
                WHERE n.nspname = 'attachments' AND p.proname = 'link')
            """)

    struct Result {
        var verdict: Verdict
        /// The mail's number, if it was accepted now.
        var number: Int64?
    }

    /// - Parameters:
    ///   - spaces: what the recipient's mailbox takes, for each of the envelopes, as it was before this statement; those of one
    ///     recipient all have one, or none has. Empty if no mailbox can reach a bound: then nothing of this costs anything.
    ///   - strangersMax: bytes that may wait from all senders without any peer; `nil` if they are far from it, likewise.
    static func statement(
        for envelopes: [AcceptEnvelope], attachments: Attachments = .none, spaces: [MailboxSpace?] = [],
        strangersMax: Int? = nil
    ) -> Statement<[Result]> {
        let messageIDs = envelopes.map { PostgresUUID(high: $0.messageID.high, low: $0.messageID.low) }
        let idCases = envelopes.map { Int32(bitPattern: $0.messageID.upperCase) }
        let senders = envelopes.map(\.sender.identity)
        let signKeys = envelopes.map(\.senderKey)
        let epochs = envelopes.map(\.sender.epoch.value)
        let recipients = envelopes.map(\.to)
        let groups = envelopes.map { $0.group.map { PostgresUUID($0) } }
        let payloads = envelopes.map(\.payload)
        let overRate = envelopes.map { $0.overRateFor != nil }
        let hasGroups = envelopes.contains { $0.group != nil }
        // Shorter than the others, which fills up with NULLs.
        let keys: [String?] = if case .none = attachments { [] } else { envelopes.map(\.attachmentKey) }
        let timely = envelopes.map(\.isTimely)
        let ledger = LedgerTable.LookUp(envelopes)
        func space(_ part: (MailboxSpace) -> Int) -> [Int64?] { spaces.map { $0.map { Int64(part($0)) } } }
        let hasSpaces = !spaces.isEmpty
        let strangers = strangersMax.map { Array(repeating: Int64($0), count: envelopes.count) } ?? []
        return Statement(
            """
            WITH judged AS MATERIALIZED (
                SELECT a.*, CASE WHEN a.verdict = 0 THEN nextval('router.mail_numbers') END AS number
                FROM (
                    \(unsafeText: hasSpaces ? Self.boundVerdicts : "") \(unsafeText: hasSpaces ? attachments.verdict : "")
                    \(unsafeText: hasSpaces ? Self.storedBefore : "")
                    SELECT g.*, \(unsafeText: hasSpaces ? Self.isStranger : "") CASE
                        WHEN s.epoch IS DISTINCT FROM g.epoch THEN 1
                        WHEN s.is_banned THEN 2
                        WHEN s.sign_key <> g.sign_key THEN 12
                        WHEN l.number IS NOT NULL THEN 3
                        WHEN NOT g.is_timely THEN 4
                        WHEN g.is_over_rate THEN 7
                        WHEN r.whisper_id IS NULL THEN 5
                        \(unsafeText: hasGroups ? Self.groupVerdicts : "")
                        WHEN r.is_banned THEN 6
                        \(unsafeText: strangersMax == nil ? "" : Self.everyStrangerVerdict)
                        ELSE \(unsafeText: hasSpaces ? "0" : attachments.verdict) END
                        AS \(unsafeText: hasSpaces ? "judged" : "verdict")
                    FROM unnest(\(messageIDs)::uuid[], \(idCases)::int4[], \(senders)::int8[], \(signKeys)::bytea[],
                            \(epochs)::int8[], \(recipients)::int8[], \(groups)::uuid[], \(payloads)::bytea[], \(timely)::bool[],
                            \(overRate)::bool[], \(keys)::text[], \(space(\.mailbox.messages))::int8[],
                            \(space(\.mailbox.bytes))::int8[], \(space(\.stranger.messages))::int8[],
                            \(space(\.stranger.bytes))::int8[], \(space(\.strangers.messages))::int8[],
                            \(space(\.strangers.bytes))::int8[], \(strangers)::int8[], \(ledger.days)::int4[])
                        WITH ORDINALITY
                        AS g (message_id, id_case, sender, sign_key, epoch, recipient, group_id, payload, is_timely, is_over_rate,
                            attachment_key, mailbox_messages, mailbox_bytes, stranger_messages, stranger_bytes,
                            strangers_messages, strangers_bytes, every_stranger_bytes, day, position)
                    LEFT JOIN auth.mail_identities s ON s.whisper_id = g.sender
                    LEFT JOIN auth.mail_identities r ON r.whisper_id = g.recipient
                    LEFT JOIN router.ledger l
                        ON l.message_id = g.message_id AND l.sender = g.sender AND l.recipient = g.recipient
                            AND l.day = ANY (ARRAY[\(unsafeText: ledger.rowDay)\(ledger.base)::int4,
                                \(unsafeText: ledger.rowDay)\(ledger.first)::int4,
                                \(unsafeText: ledger.rowDay)\(ledger.last)::int4, -1])
                    \(unsafeText: hasSpaces ? Self.windows : "")
                    ORDER BY g.position
                ) a
            ), entered AS (
                INSERT INTO router.ledger (message_id, sender, recipient, number, accepted_at, id_case, group_id, day)
                SELECT message_id, sender, recipient, number, now(), id_case, group_id,
                    -- By the database's clock, whatever the senders' and the gateway's say.
                    CASE WHEN day = ANY (ARRAY(SELECT d.day FROM router.ledger_days d
                        WHERE d.day BETWEEN router.day(now()) - 1 AND router.day(now()) + 1)) THEN day ELSE -1 END
                FROM judged WHERE verdict = 0
            ), stored AS (
                INSERT INTO router.mailbox (recipient, number, sender, message_id, accepted_at, id_case, payload, segment)
                SELECT recipient, number, sender, message_id, now(), id_case, payload, router.segment(number)
                FROM judged WHERE verdict = 0
            )
            SELECT verdict::int2, number FROM judged ORDER BY position
            """, each: Self.result)
    }

    /// The count is read once for the batch; whether a sender has a peer, only once the bound is reached.
    private static let everyStrangerVerdict: StaticString = """
        WHEN (SELECT x.bytes FROM router.stranger_bytes x WHERE x.store = 'mail') + octet_length(g.payload) > g.every_stranger_bytes
            AND NOT router.has_peer(g.sender) THEN 16
        """

    /// Whether the mailbox has room, asked of what else would be accepted, and before an attachment is linked. A message that is refused
    /// here still takes its place for the rest of its batch.
    private static let boundVerdicts: StaticString = """
        SELECT g.*, CASE
            WHEN g.judged <> 0 THEN g.judged
            WHEN g.messages > g.mailbox_messages OR g.bytes > g.mailbox_bytes THEN 13
            WHEN g.is_stranger AND (g.messages_of_sender > g.stranger_messages OR g.bytes_of_sender > g.stranger_bytes) THEN 14
            WHEN g.is_stranger
                AND (g.messages_of_strangers > g.strangers_messages OR g.bytes_of_strangers > g.strangers_bytes) THEN 15
            ELSE
        """

    /// The mail that the batch itself adds to each mailbox, up to and with each message.
    private static let storedBefore: StaticString = """
            END AS verdict
        FROM (
            SELECT b.*, count(*) FILTER (WHERE b.judged = 0) OVER mailbox AS messages,
                sum(octet_length(b.payload)) FILTER (WHERE b.judged = 0) OVER mailbox AS bytes,
                count(*) FILTER (WHERE b.judged = 0 AND b.is_stranger) OVER mailbox AS messages_of_strangers,
                sum(octet_length(b.payload)) FILTER (WHERE b.judged = 0 AND b.is_stranger) OVER mailbox AS bytes_of_strangers,
                count(*) FILTER (WHERE b.judged = 0) OVER sender AS messages_of_sender,
                sum(octet_length(b.payload)) FILTER (WHERE b.judged = 0) OVER sender AS bytes_of_sender
            FROM (
        """

    private static let windows: StaticString = """
            ) b
            WINDOW mailbox AS (PARTITION BY b.recipient ORDER BY b.position ROWS UNBOUNDED PRECEDING),
                sender AS (PARTITION BY b.recipient, b.sender ORDER BY b.position ROWS UNBOUNDED PRECEDING)
        ) g
        """

    /// Asked only where a bound may be reached. Not joined, as below.
    private static let isStranger: StaticString = """
        g.mailbox_messages IS NOT NULL AND NOT router.are_peers(g.sender, g.recipient) AS is_stranger,
        """

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

    private static func result(_ row: inout Row) throws(StoreError) -> Result {
        let verdict: Int16 = try row.next()
        // The statement knows no other numbers.
        return Result(verdict: Verdict(rawValue: verdict)!, number: try row.next(Int64?.self))
    }
}
