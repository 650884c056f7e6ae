import Contract
import Store

/// Reads `router.mailbox`; `AcceptStatement` and `ReceiptStatement` write it.
enum MailboxTable {
    /// A part of a mailbox that is asked for.
    struct Question {
        var caller: Caller
        var after: Int64
        /// Inclusive; `.max` for no end.
        var through: Int64
        var limit: Int
        /// The mailbox is known to hold nothing: the session is checked, and that is all.
        var isEmpty = false
    }

    struct Letters {
        /// The caller's session is not the live one; nothing was read.
        var isStale = false
        /// Oldest first, with the time at which each was accepted.
        var letters: [(mail: Mail, acceptedAt: Timestamp)] = []
        /// There is more behind them.
        var hasMore = false
    }

    /// Reads several mailboxes at once. Of each, no more than `limit` letters and about a page's bytes.
    static func read(_ questions: [Question]) -> SQL {
        let identities = questions.map(\.caller.identity)
        let epochs = questions.map(\.caller.epoch.value)
        let after = questions.map(\.after)
        let through = questions.map(\.through)
        // One more than wanted tells whether there is more.
        let limits = questions.map { $0.isEmpty ? 0 : Int64($0.limit + 1) }
        return """
            SELECT g.position - 1, i.whisper_id IS NULL, m.number, m.accepted_at, m.payload
            FROM unnest(\(identities)::int8[], \(epochs)::int8[], \(after)::int8[], \(through)::int8[],
                    \(limits)::int8[])
                WITH ORDINALITY AS g (identity, epoch, after, through, most, position)
            LEFT JOIN auth.mail_identities i ON i.whisper_id = g.identity AND i.epoch = g.epoch
            LEFT JOIN LATERAL (
                SELECT number, accepted_at, payload,
                    sum(octet_length(payload)) OVER (ORDER BY number ROWS UNBOUNDED PRECEDING)
                        - octet_length(payload) AS bytes_before
                FROM (
                    SELECT number, accepted_at, payload FROM router.mailbox
                    WHERE recipient = g.identity AND number > g.after AND number <= g.through
                    ORDER BY number LIMIT g.most
                ) oldest
            ) m ON i.whisper_id IS NOT NULL AND m.bytes_before < \(Int64(Limits.pageBytesMax))
            ORDER BY g.position, m.number
            """
    }

    static func letters(_ rows: Rows, for questions: [Question]) throws(StoreError) -> [Letters] {
        var results = [Letters](repeating: Letters(), count: questions.count)
        var bytes = [Int](repeating: 0, count: questions.count)
        for var row in rows {
            let index = Int(try row.next(Int64.self))
            results[index].isStale = try row.next()
            guard let number = try row.next(Int64?.self), !results[index].hasMore else { continue }
            let acceptedAt: Timestamp = try row.next()
            let payload: [UInt8] = try row.next()
            // A comma before each but the first; the rest of the frame is reserved for.
            let size = payload.count + 1
            let isFull = results[index].letters.count == questions[index].limit
                || (!results[index].letters.isEmpty && bytes[index] + size > Self.pageBytesForMail)
            if isFull {
                results[index].hasMore = true
            } else {
                bytes[index] += size
                results[index].letters.append((Mail(number: number, payload: payload), acceptedAt))
            }
        }
        return results
    }

    /// What is left of a page's frame for mail: envelope, longest request id (every character escaped) and cursor off.
    private static let pageBytesForMail = Limits.pageBytesMax - 512

    /// The highest number in each mailbox, and whether the session is the live one.
    /// - Parameter mayHold: a mailbox that holds nothing is not looked into.
    static func newest(_ callers: [Caller], mayHold: (WhisperID) -> Bool = { _ in true }) -> SQL {
        let identities = callers.map(\.identity)
        let limits = identities.map { mayHold($0) ? Int64(1) : 0 }
        return """
            SELECT i.epoch, (SELECT number FROM router.mailbox m WHERE m.recipient = g.identity
                ORDER BY number DESC LIMIT g.most)
            FROM unnest(\(identities)::int8[], \(limits)::int8[]) WITH ORDINALITY AS g (identity, most, position)
            LEFT JOIN auth.mail_identities i ON i.whisper_id = g.identity
            ORDER BY g.position
            """
    }

    /// - Returns: for each caller the identity's present epoch and its newest mail.
    static func newest(_ rows: Rows) throws(StoreError) -> [(epoch: Epoch?, newest: Int64?)] {
        var results: [(epoch: Epoch?, newest: Int64?)] = []
        results.reserveCapacity(rows.count)
        for var row in rows {
            let epoch = try row.next(Int64?.self).map { Epoch(value: $0) }
            results.append((epoch, try row.next(Int64?.self)))
        }
        return results
    }

    /// Recipients in these ranges for whom something waits, found without reading every letter: the index is skipped
    /// through from one recipient to the next.
    static func recipients(from first: Int64, through last: Int64, limit: Int64) -> SQL {
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
        """
    }

    /// How much waits in a range of recipients, and since when the oldest.
    static func statistics(from first: Int64, through last: Int64) -> SQL {
        "SELECT count(*), min(accepted_at) FROM router.mailbox WHERE recipient BETWEEN \(first) AND \(last)"
    }

    /// Removes mail accepted before `deadline`; its senders get an outcome each.
    /// - Returns (rows): what `OutcomesTable.outcomes` reads.
    static func expire(
        from first: Int64, through last: Int64, acceptedBefore deadline: Timestamp, at now: Timestamp
    ) -> SQL {
        """
        WITH old AS MATERIALIZED (
            SELECT recipient, number FROM router.mailbox
            WHERE accepted_at < \(deadline) AND recipient BETWEEN \(first) AND \(last) LIMIT \(RouterLimits.sweepRowsMax)
        ), removed AS (
            DELETE FROM router.mailbox m USING old
            WHERE m.recipient = old.recipient AND m.number = old.number
            RETURNING m.number, m.sender, m.recipient, m.message_id, m.id_case
        ), marked AS (
            UPDATE router.ledger l SET status = 3, status_at = \(now) FROM removed r
            WHERE l.message_id = r.message_id AND l.sender = r.sender AND l.recipient = r.recipient
        )
        INSERT INTO router.outcomes (sender, number, kind, id_case, message_id, recipient, at, created_at, segment)
        SELECT sender, outcome, 3, id_case, message_id, recipient, \(now.milliseconds), \(now), router.segment(outcome)
        FROM (
            SELECT r.*, nextval('router.outcome_numbers') AS outcome FROM (SELECT * FROM removed ORDER BY number) r
        ) told
        RETURNING sender, number, kind, id_case, message_id, recipient, group_id, at
        """
    }
}
