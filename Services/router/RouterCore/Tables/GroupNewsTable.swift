import Contract
import Store

/// Somebody has yet to confirm the latest event of a group.
struct GroupNews {
    struct Event: Hashable {
        var group: UUIDText
        var revision: Int64
    }

    var member: WhisperID
    var number: Int64
    var event: Event
}

/// `router.group_events` and `router.group_news`: what members have yet to hear of.
enum GroupNewsTable {
    /// Stores an event.
    /// - Throws (the statement): `.unique` if the question has been answered by another.
    static func store(
        _ event: GroupNews.Event, payload: [UInt8], answering question: AnswerAddress
    ) -> SQL {
        """
        INSERT INTO router.group_events (group_id, revision, node, question, created_at, payload)
        VALUES (\(PostgresUUID(event.group)), \(event.revision), \(question.storedNode), \(question.storedNumber), now(),
            \(payload))
        """
    }

    /// Has everybody of `audience` yet to hear of an event, instead of any older one of the same group.
    /// - Returns (rows): what `news` reads.
    static func tell(_ audience: [WhisperID], of event: GroupNews.Event) -> SQL {
        """
        INSERT INTO router.group_news (member, group_id, revision, number, created_at)
        SELECT a.member, \(PostgresUUID(event.group)), \(event.revision), nextval('router.outcome_numbers'), now()
        FROM unnest(\(audience)::int8[]) AS a (member)
        ON CONFLICT (member, group_id) DO UPDATE SET revision = excluded.revision, number = excluded.number,
            created_at = excluded.created_at
        RETURNING member, number, group_id, revision
        """
    }

    /// The event that this question has had for an answer.
    static func answer(to question: AnswerAddress) -> SQL {
        """
        SELECT group_id, revision, payload FROM router.group_events
        WHERE node = \(question.storedNode) AND question = \(question.storedNumber)
        """
    }

    /// Who has yet to hear of an event.
    static func unheard(_ event: GroupNews.Event) -> SQL {
        """
        SELECT member, number, group_id, revision FROM router.group_news
        WHERE group_id = \(PostgresUUID(event.group)) AND revision = \(event.revision)
        """
    }

    /// What each member has yet to hear, as much as may be sent at a time: first of groups that it owns, then of those where it is an
    /// admin, then the rest; the oldest first.
    static func pending(of members: [WhisperID]) -> SQL {
        """
        SELECT n.member, n.number, n.group_id, n.revision
        FROM unnest(\(members)::int8[]) WITH ORDINALITY AS g (member, position)
        CROSS JOIN LATERAL (
            SELECT w.*, row_number() OVER (ORDER BY w.part, w.number) AS place,
                sum(w.bytes) OVER (ORDER BY w.part, w.number ROWS UNBOUNDED PRECEDING) AS bytes_through
            FROM (
                SELECT p.member, p.number, p.group_id, p.revision, octet_length(e.payload) AS bytes, COALESCE(m.role, 2) AS part
                FROM router.group_news p
                JOIN router.group_events e ON e.group_id = p.group_id AND e.revision = p.revision
                LEFT JOIN router.group_members m ON m.group_id = p.group_id AND m.member = p.member
                WHERE p.member = g.member
            ) w
        ) n
        WHERE n.bytes_through <= \(Int64(RouterLimits.groupEventsPerBindBytesMax)) OR n.place = 1
        ORDER BY g.position, n.place
        """
    }

    /// News that nobody has confirmed, by their age.
    static func waiting(longerThan young: Duration, butNotLongerThan old: Duration) -> SQL {
        """
        SELECT member, number, group_id, revision FROM router.group_news
        WHERE created_at > now() - \(old.milliseconds) * interval '1 millisecond'
            AND created_at < now() - \(young.milliseconds) * interval '1 millisecond'
        ORDER BY created_at LIMIT \(RouterLimits.sweepRowsMax)
        """
    }

    static func news(_ rows: Rows) throws(StoreError) -> [GroupNews] {
        var news: [GroupNews] = []
        news.reserveCapacity(rows.count)
        for var row in rows {
            news.append(GroupNews(member: try row.next(), number: try row.next(), event: try Self.event(&row)))
        }
        return news
    }

    private static func event(_ row: inout Row) throws(StoreError) -> GroupNews.Event {
        GroupNews.Event(group: UUIDText(try row.next(PostgresUUID.self)), revision: try row.next())
    }

    /// What happened, as clients are told, in the order of `events`.
    static func payloads(of events: [GroupNews.Event]) -> SQL {
        let groups = events.map { PostgresUUID($0.group) }
        let revisions = events.map(\.revision)
        return """
            SELECT e.group_id, e.revision, e.payload
            FROM unnest(\(groups)::uuid[], \(revisions)::int8[]) WITH ORDINALITY AS g (group_id, revision, position)
            JOIN router.group_events e ON e.group_id = g.group_id AND e.revision = g.revision
            ORDER BY g.position
            """
    }

    static func payloads(_ rows: Rows) throws(StoreError) -> [(event: GroupNews.Event, payload: [UInt8])] {
        var payloads: [(event: GroupNews.Event, payload: [UInt8])] = []
        for var row in rows { payloads.append((try Self.event(&row), try row.next())) }
        return payloads
    }

    /// These have reached their client. One that a change is replacing right now has not, whatever its client says.
    static func remove(_ numbers: [Int64]) -> SQL {
        """
        DELETE FROM router.group_news WHERE number IN (
            SELECT number FROM router.group_news WHERE number = ANY (\(numbers)::int8[]) FOR UPDATE SKIP LOCKED)
        """
    }

    /// What has waited too long for somebody who is away. One that a change is replacing right now has not.
    static func expire(olderThan age: Duration) -> SQL {
        """
        DELETE FROM router.group_news WHERE number IN (
            SELECT number FROM router.group_news
            WHERE created_at < now() - \(age.milliseconds) * interval '1 millisecond'
            LIMIT \(RouterLimits.sweepRowsMax) FOR UPDATE SKIP LOCKED)
        """
    }

    /// Events that everybody has heard of.
    static func forget(olderThan age: Duration) -> SQL {
        """
        DELETE FROM router.group_events e USING (
            SELECT o.group_id, o.revision FROM router.group_events o
            WHERE o.created_at < now() - \(age.milliseconds) * interval '1 millisecond' AND (
                SELECT n.number FROM router.group_news n
                WHERE n.group_id = o.group_id AND n.revision = o.revision LIMIT 1) IS NULL
            LIMIT \(RouterLimits.sweepRowsMax)) old
        WHERE e.group_id = old.group_id AND e.revision = old.revision
        """
    }
}

extension AnswerAddress {
    fileprivate var storedNode: Int64 { Int64(bitPattern: self.node.value) }
    fileprivate var storedNumber: Int64 { Int64(bitPattern: self.question) }
}
