import ClusterContract
import Contract
import Store

/// Reads `router.mailbox`; `AcceptStatement` and `ReceiptStatement` write it.
enum MailboxTable {
    /// A request to read a part of a mailbox.
    struct ReadRequest {
        var caller: Caller
        var after: Int64
        /// Inclusive; `.max` for no end.
        var through: Int64
        var limit: Int
        /// Bytes of a peek's messages, at most; one that has more alone is left out. `nil` for a page, whose first message comes
        /// whatever its size.
        var peekBytes: Int?
        /// The mailbox is known to be empty, so only the session is checked.
        var isEmpty = false
    }

    struct StoredMessages {
        /// The caller's session is not the live one; nothing was read.
        var isStale = false
        /// Oldest first, with the milliseconds since each was accepted, both by the database's clock.
        var messages: [(mail: Mail, age: Int64)] = []
        /// The mailbox holds more behind them.
        var hasMore = false
    }

    /// Reads several mailboxes at once: from each, no more than `limit` messages and about a page's bytes.
    static func read(_ requests: [ReadRequest]) -> Statement<[StoredMessages]> {
        let identities = requests.map(\.caller.identity)
        let epochs = requests.map(\.caller.epoch.value)
        let after = requests.map(\.after)
        let through = requests.map(\.through)
        // One more than wanted tells whether there is more.
        let limits = requests.map { $0.isEmpty ? 0 : Int64($0.limit + 1) }
        let bytes = requests.map { Int64($0.peekBytes ?? Limits.pageBytesMax) }
        let bytesOfOne = requests.map { $0.peekBytes.map { Int64($0) - 1 } ?? .max }
        return Statement(
            """
            SELECT g.position - 1, i.whisper_id IS NULL, m.number,
                floor(extract(epoch FROM now() - m.accepted_at) * 1000)::int8, m.payload
            FROM unnest(\(identities)::int8[], \(epochs)::int8[], \(after)::int8[], \(through)::int8[],
                    \(limits)::int8[], \(bytes)::int8[], \(bytesOfOne)::int8[])
                WITH ORDINALITY AS g (identity, epoch, after, through, most, bytes, bytes_of_one, position)
            LEFT JOIN auth.mail_identities i ON i.whisper_id = g.identity AND i.epoch = g.epoch
            LEFT JOIN LATERAL (
                SELECT number, accepted_at, payload,
                    coalesce(
                        sum(octet_length(payload)) OVER (ORDER BY number ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING),
                        0) AS bytes_before
                FROM (
                    SELECT number, accepted_at,
                        CASE WHEN octet_length(payload) <= g.bytes_of_one THEN payload END AS payload
                    FROM router.mailbox
                    WHERE recipient = g.identity AND number > g.after AND number <= g.through
                    ORDER BY number LIMIT g.most
                ) oldest
            ) m ON i.whisper_id IS NOT NULL AND m.bytes_before < g.bytes
            ORDER BY g.position, m.number
            """, decode: { rows throws(StoreError) in try Self.storedMessages(rows, for: requests) })
    }

    private static func storedMessages(_ rows: Rows, for requests: [ReadRequest]) throws(StoreError) -> [StoredMessages]
    {
        var results = [StoredMessages](repeating: StoredMessages(), count: requests.count)
        var bytes = [Int](repeating: 0, count: requests.count)
        var isFull = [Bool](repeating: false, count: requests.count)
        for var row in rows {
            let index = Int(try row.next(Int64.self))
            results[index].isStale = try row.next()
            guard let number = try row.next(Int64?.self), !isFull[index] else { continue }
            let age: Int64 = try row.next()
            guard let payload = try row.next([UInt8]?.self) else {
                results[index].hasMore = true
                continue
            }
            // A comma before each but the first; the rest of the frame is reserved for.
            let size = payload.count + 1
            let (peekBytes, isFirst) = (requests[index].peekBytes, results[index].messages.isEmpty)
            let isTooLarge = bytes[index] + size > peekBytes ?? Self.pageBytesForMail
            isFull[index] =
                results[index].messages.count == requests[index].limit || isTooLarge && (peekBytes != nil || !isFirst)
            if isFull[index] {
                results[index].hasMore = true
            } else {
                bytes[index] += size
                results[index].messages.append((Mail(number: number, payload: payload), age))
            }
        }
        return results
    }

    /// Bytes for mail in a page's frame, without the envelope, the longest request id (every character escaped) and the
    /// cursor.
    private static let pageBytesForMail = Limits.pageBytesMax - 512

    struct Newest {
        /// The identity's present one.
        var epoch: Epoch?
        /// The number of its newest mail.
        var number: Int64?
    }

    /// - Parameter mayHold: a mailbox that holds nothing is not looked into.
    static func newest(
        _ callers: [Caller], mayHold: (WhisperID) -> Bool = { _ in true }
    ) -> Statement<[Newest]> {
        let identities = callers.map(\.identity)
        let limits = identities.map { mayHold($0) ? Int64(1) : 0 }
        return Statement(
            """
            SELECT i.epoch, (SELECT number FROM router.mailbox m WHERE m.recipient = g.identity
                ORDER BY number DESC LIMIT g.most)
            FROM unnest(\(identities)::int8[], \(limits)::int8[]) WITH ORDINALITY AS g (identity, most, position)
            LEFT JOIN auth.mail_identities i ON i.whisper_id = g.identity
            ORDER BY g.position
            """,
            each: { row throws(StoreError) in
                Newest(epoch: try row.next(Int64?.self).map { Epoch(value: $0) }, number: try row.next(Int64?.self))
            })
    }

    /// Recipients in these ranges for whom something waits, found without reading every message: the index is skipped
    /// through from one recipient to the next.
    static func recipients(from first: Int64, through last: Int64, limit: Int64) -> Statement<[WhisperID]> {
        Statement(
            """
            WITH RECURSIVE waiting (recipient) AS (
                (SELECT recipient FROM router.mailbox WHERE recipient BETWEEN \(first) AND \(last)
                    ORDER BY recipient LIMIT 1)
                UNION ALL
                SELECT (SELECT m.recipient FROM router.mailbox m
                    WHERE m.recipient > w.recipient AND m.recipient <= \(last) ORDER BY m.recipient LIMIT 1)
                FROM waiting w WHERE w.recipient IS NOT NULL
            )
            SELECT recipient FROM waiting WHERE recipient IS NOT NULL LIMIT \(limit)
            """, each: { row throws(StoreError) in try row.next() })
    }

    /// How much waits for a run's recipients, counted up to one more than `RouterLimits.pendingCountedMax`; how much for everybody's
    /// by Postgres' own statistics; and for how many seconds the run's oldest has waited, if there is one.
    static func statistics(of run: PartitionRun) -> Statement<Statistics> {
        let (first, last) = (run.identities.lowerBound, run.identities.upperBound)
        let partitions = run.numbers
        return Statement(
            """
            SELECT (SELECT count(*) FROM (
                    SELECT FROM router.mailbox WHERE recipient BETWEEN \(first) AND \(last)
                    LIMIT \(RouterLimits.pendingCountedMax + 1)) counted),
                (SELECT COALESCE(sum(pg_stat_get_live_tuples(t.relid)), 0)::int8
                    FROM pg_partition_tree('router.mailbox') t WHERE t.isleaf),
                extract(epoch FROM now() - LEAST(
                    (SELECT min(oldest.accepted_at) FROM unnest(\(partitions)::int8[]) AS p (number)
                        CROSS JOIN LATERAL (SELECT accepted_at FROM router.mailbox
                            WHERE segment = 3 AND recipient >> 52 = p.number ORDER BY accepted_at LIMIT 1) oldest),
                    (SELECT min(accepted_at) FROM (
                        SELECT accepted_at FROM router.mailbox WHERE segment < 3 AND recipient BETWEEN \(first) AND \(last)
                        LIMIT \(RouterLimits.youngRowsMax)) young)))::float8
            """,
            decode: { rows throws(StoreError) in
                var row = rows[0]
                return Statistics(
                    partitions: run.count, counted: try row.next(), estimated: try row.next(),
                    oldestSeconds: try row.next())
            })
    }

    struct Statistics {
        var partitions: Int
        var counted: Int64
        /// For all partitions.
        var estimated: Int64
        var oldestSeconds: Double?
    }

    /// Counts mailboxes: all that waits in each, what of it strangers sent, and of whom much. To be asked by the owner of the
    /// recipients' partitions on the connection that stores for them.
    /// - Parameter asked: senders that are listed however little there is of them.
    static func count(_ recipients: [WhisperID], asked: [WhisperID], _ bounds: MailBounds) -> Statement<[CountedMail]> {
        Statement(
            """
            SELECT c.messages, c.bytes, c.strangers_messages, c.strangers_bytes, c.senders, c.sender_messages, c.sender_bytes
            FROM unnest(\(recipients)::int8[]) WITH ORDINALITY AS g (recipient, position)
            CROSS JOIN LATERAL (
                SELECT COALESCE(sum(s.messages), 0)::int8 AS messages, COALESCE(sum(s.bytes), 0)::int8 AS bytes,
                    COALESCE(sum(s.messages) FILTER (WHERE s.is_stranger), 0)::int8 AS strangers_messages,
                    COALESCE(sum(s.bytes) FILTER (WHERE s.is_stranger), 0)::int8 AS strangers_bytes,
                    COALESCE(array_agg(s.sender ORDER BY s.sender) FILTER (WHERE s.is_listed), '{}') AS senders,
                    COALESCE(array_agg(s.messages ORDER BY s.sender) FILTER (WHERE s.is_listed), '{}') AS sender_messages,
                    COALESCE(array_agg(s.bytes ORDER BY s.sender) FILTER (WHERE s.is_listed), '{}') AS sender_bytes
                FROM (
                    SELECT w.sender, w.messages, w.bytes, NOT router.are_peers(w.sender, g.recipient) AS is_stranger,
                        w.messages > \(Int64(bounds.unlisted.messages)) OR w.bytes > \(Int64(bounds.unlisted.bytes))
                            OR w.sender = ANY (\(asked)::int8[]) AS is_listed
                    FROM (
                        SELECT m.sender, count(*) AS messages, sum(octet_length(m.payload)) AS bytes
                        FROM (
                            SELECT sender, payload FROM router.mailbox WHERE recipient = g.recipient
                            LIMIT \(Int64(bounds.mailbox.messages) + 1)
                        ) m
                        GROUP BY m.sender
                    ) w
                ) s
            ) c
            ORDER BY g.position
            """, each: Self.counted)
    }

    private static func counted(_ row: inout Row) throws(StoreError) -> CountedMail {
        func tally(_ row: inout Row) throws(StoreError) -> MailTally {
            MailTally(messages: Int(try row.next(Int64.self)), bytes: Int(try row.next(Int64.self)))
        }
        var mail = CountedMail(mailbox: try tally(&row), strangers: try tally(&row), senders: [:])
        let senders: [WhisperID] = try row.next()
        let (messages, bytes): ([Int64], [Int64]) = (try row.next(), try row.next())
        for (index, sender) in senders.enumerated() {
            mail.senders[sender] = MailTally(messages: Int(messages[index]), bytes: Int(bytes[index]))
        }
        return mail
    }

    /// Removes mail that has waited longer than this; its senders get an outcome each. It locks rows of the ledger first, as receipts do,
    /// and leaves those that a receipt is just about: a batch must never wait for a sweep that waits for it.
    /// - Returns: the outcomes of `RouterLimits.sweepRowsMax` messages at most.
    static func expire(in run: PartitionRun, olderThan age: Duration) -> Statement<[SenderOutcome]> {
        let (milliseconds, partitions) = (age.milliseconds, run.numbers)
        return Statement(
            """
            WITH due AS MATERIALIZED (
                SELECT d.*, l.day, l.day IS NULL AS is_forgotten
                FROM (
                    (SELECT k.* FROM unnest(\(partitions)::int8[]) AS p (number) CROSS JOIN LATERAL (
                        SELECT tableoid AS home, ctid AS place, recipient, sender, message_id, accepted_at FROM router.mailbox
                        WHERE segment = 3 AND recipient >> 52 = p.number
                            AND accepted_at < now() - \(milliseconds) * interval '1 millisecond'
                        ORDER BY accepted_at LIMIT \(RouterLimits.sweepRowsMax)) k)
                    UNION ALL
                    (SELECT tableoid AS home, ctid AS place, recipient, sender, message_id, accepted_at FROM router.mailbox
                        WHERE segment < 3 AND recipient BETWEEN \(run.identities.lowerBound) AND \(run.identities.upperBound)
                            AND accepted_at < now() - \(milliseconds) * interval '1 millisecond'
                        LIMIT \(RouterLimits.sweepRowsMax))
                    LIMIT \(RouterLimits.sweepRowsMax)
                ) d
                \(unsafeText: Self.removal)
            """, each: OutcomesTable.outcome)
    }

    /// The same for all mail to an erased identity.
    static func expire(of recipient: WhisperID) -> Statement<[SenderOutcome]> {
        Statement(
            """
            WITH due AS MATERIALIZED (
                SELECT d.*, l.day, l.day IS NULL AS is_forgotten
                FROM (
                    SELECT tableoid AS home, ctid AS place, recipient, sender, message_id, accepted_at FROM router.mailbox
                    WHERE recipient = \(recipient) ORDER BY number LIMIT \(RouterLimits.sweepRowsMax)
                ) d
                \(unsafeText: Self.removal)
            """, each: OutcomesTable.outcome)
    }

    /// The rest of both statements: removes `d`, and tells its senders.
    private static let removal: StaticString = """
            -- Its signed time is not known any more. It was near the time when the message was accepted, or the row is of no day.
            LEFT JOIN LATERAL (
                SELECT day FROM router.ledger
                WHERE message_id = d.message_id AND sender = d.sender AND recipient = d.recipient
                    AND day = ANY (ARRAY[
                        router.day(d.accepted_at), router.day(d.accepted_at) - 1, router.day(d.accepted_at) + 1, -1])
                LIMIT 1
            ) l ON true
        ), locked AS MATERIALIZED (
            SELECT d.home, d.place, d.day FROM router.ledger l
            JOIN due d ON l.message_id = d.message_id AND l.sender = d.sender AND l.recipient = d.recipient
                AND l.day = d.day
            FOR UPDATE OF l SKIP LOCKED
        ), removed AS (
            DELETE FROM router.mailbox m USING (
                SELECT home, place, day FROM locked
                UNION ALL SELECT home, place, day FROM due WHERE is_forgotten
            ) free
            -- Not by key: of a table that has grown since it was analysed, Postgres might read all for each row.
            WHERE m.tableoid = free.home AND m.ctid = free.place
            RETURNING m.number, m.sender, m.recipient, m.message_id, m.id_case, free.day
        ), marked AS (
            UPDATE router.ledger l SET status = 3, status_at = now() FROM removed r
            WHERE l.message_id = r.message_id AND l.sender = r.sender AND l.recipient = r.recipient AND l.day = r.day
        )
        INSERT INTO router.outcomes (sender, number, kind, id_case, message_id, recipient, at, created_at, segment)
        SELECT sender, outcome, 3, id_case, message_id, recipient, floor(extract(epoch FROM now()) * 1000)::int8, now(),
            router.segment(outcome)
        FROM (
            SELECT r.*, nextval('router.outcome_numbers') AS outcome FROM (SELECT * FROM removed ORDER BY number) r
            -- An erased sender is told nothing.
            WHERE EXISTS (SELECT FROM auth.mail_identities i WHERE i.whisper_id = r.sender)
        ) told
        RETURNING sender, number, kind, id_case, message_id, recipient, group_id, at
        """
}
