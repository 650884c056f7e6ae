import ClusterContract
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
    /// An event, and what clients are told of it.
    struct StoredEvent {
        var event: GroupNews.Event
        var payload: [UInt8]
    }

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
    static func tell(_ audience: [WhisperID], of event: GroupNews.Event) -> Statement<[GroupNews]> {
        Statement(
            """
            INSERT INTO router.group_news (member, group_id, revision, number, created_at)
            SELECT a.member, \(PostgresUUID(event.group)), \(event.revision), nextval('router.outcome_numbers'), now()
            FROM unnest(\(audience)::int8[]) AS a (member)
            ON CONFLICT (member, group_id) DO UPDATE SET revision = excluded.revision, number = excluded.number,
                created_at = excluded.created_at
            RETURNING member, number, group_id, revision
            """, each: Self.news)
    }

    /// The event that this question has had for an answer.
    static func answer(to question: AnswerAddress) -> Statement<StoredEvent?> {
        Statement(
            """
            SELECT group_id, revision, payload FROM router.group_events
            WHERE node = \(question.storedNode) AND question = \(question.storedNumber)
            """, first: Self.stored)
    }

    /// Some events that name an identity. Reads all events.
    static func naming(_ identity: WhisperID, limit: Int) -> Statement<[StoredEvent]> {
        let value = "\"\(identity)\""
        // A title is whatever people have written, also if that is an id in quotes. It is cut out whole.
        return Statement(
            #"""
            SELECT group_id, revision, payload FROM router.group_events
            WHERE position(\#(value) IN convert_from(payload, 'UTF8')) > 0
                AND position(\#(value) IN
                    regexp_replace(convert_from(payload, 'UTF8'), '"title":"([^"\\]|\\.)*"', '', 'g')) > 0
            LIMIT \#(Int64(limit))
            """#, each: Self.stored)
    }

    /// An event, and who has to confirm it.
    static func remove(_ event: GroupNews.Event) -> [SQL] {
        [
            """
            DELETE FROM router.group_news WHERE group_id = \(PostgresUUID(event.group)) AND revision = \(event.revision)
            """,
            """
            DELETE FROM router.group_events WHERE group_id = \(PostgresUUID(event.group)) AND revision = \(event.revision)
            """,
        ]
    }

    static func rewrite(_ event: StoredEvent) -> SQL {
        """
        UPDATE router.group_events SET payload = \(event.payload)
        WHERE group_id = \(PostgresUUID(event.event.group)) AND revision = \(event.event.revision)
        """
    }

    /// Members who have not confirmed an event.
    static func unheard(_ event: GroupNews.Event) -> Statement<[GroupNews]> {
        Statement(
            """
            SELECT member, number, group_id, revision FROM router.group_news
            WHERE group_id = \(PostgresUUID(event.group)) AND revision = \(event.revision)
            """, each: Self.news)
    }

    /// Unconfirmed events of each member, as much as may be sent at a time. First of groups that it owns, then of those
    /// where it is an admin, then the rest; the oldest first.
    static func pending(of members: [WhisperID]) -> Statement<[GroupNews]> {
        Statement(
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
            WHERE n.bytes_through <= \(Int64(Limits.groupEventsBytesMax)) OR n.place = 1
            ORDER BY g.position, n.place
            """, each: Self.news)
    }

    /// News that nobody has confirmed, by their age.
    static func waiting(longerThan young: Duration, butNotLongerThan old: Duration) -> Statement<[GroupNews]> {
        Statement(
            """
            SELECT member, number, group_id, revision FROM router.group_news
            WHERE created_at > now() - \(old.milliseconds) * interval '1 millisecond'
                AND created_at < now() - \(young.milliseconds) * interval '1 millisecond'
            ORDER BY created_at LIMIT \(RouterLimits.sweepRowsMax)
            """, each: Self.news)
    }

    private static func news(_ row: inout Row) throws(StoreError) -> GroupNews {
        GroupNews(member: try row.next(), number: try row.next(), event: try Self.event(&row))
    }

    private static func event(_ row: inout Row) throws(StoreError) -> GroupNews.Event {
        GroupNews.Event(group: UUIDText(try row.next(PostgresUUID.self)), revision: try row.next())
    }

    /// Payloads of the events, as clients receive them, in the order of `events`.
    static func payloads(of events: [GroupNews.Event]) -> Statement<[StoredEvent]> {
        let groups = events.map { PostgresUUID($0.group) }
        let revisions = events.map(\.revision)
        return Statement(
            """
            SELECT e.group_id, e.revision, e.payload
            FROM unnest(\(groups)::uuid[], \(revisions)::int8[]) WITH ORDINALITY AS g (group_id, revision, position)
            JOIN router.group_events e ON e.group_id = g.group_id AND e.revision = g.revision
            ORDER BY g.position
            """, each: Self.stored)
    }

    private static func stored(_ row: inout Row) throws(StoreError) -> StoredEvent {
        StoredEvent(event: try Self.event(&row), payload: try row.next())
    }

    /// These have reached their client. One that a change is replacing right now has not, whatever its client says.
    static func remove(_ numbers: [Int64]) -> SQL {
        """
        DELETE FROM router.group_news WHERE number IN (
            SELECT number FROM router.group_news WHERE number = ANY (\(numbers)::int8[]) FOR UPDATE SKIP LOCKED)
        """
    }

    /// Removes news that has waited too long for an absent member. News that a change is replacing right now stays.
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
