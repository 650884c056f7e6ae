import ClusterContract
import Contract
import Store

/// The only code that writes `router.groups` and `router.group_members`; `AcceptStatement`, `GroupQuotaTable` and
/// `GroupNewsTable` look members up.
enum GroupTable {
    /// The group without its members, locked until the transaction ends. `members` must be asked for behind it.
    static func lock(_ id: UUIDText) -> Statement<Group?> {
        Statement(
            """
            SELECT title, owner, revision, created_at, updated_at FROM router.groups
            WHERE group_id = \(PostgresUUID(id)) FOR UPDATE
            """,
            first: { row throws(StoreError) in
                Group(
                    id: id, title: try row.next(), owner: try row.next(), revision: try row.next(),
                    createdAt: try row.next(), updatedAt: try row.next(), members: [])
            })
    }

    static func members(of id: UUIDText) -> Statement<[Group.Member]> {
        Statement(
            "SELECT member, role, joined_at FROM router.group_members WHERE group_id = \(PostgresUUID(id))",
            each: Self.member)
    }

    private static func member(_ row: inout Row) throws(StoreError) -> Group.Member {
        Group.Member(
            identity: try row.next(), role: GroupRole.ranked[Int(try row.next(Int16.self))], joinedAt: try row.next())
    }

    /// Some groups of a member.
    static func groups(of member: WhisperID, limit: Int) -> Statement<[UUIDText]> {
        Statement(
            "SELECT group_id FROM router.group_members WHERE member = \(member) ORDER BY group_id LIMIT \(Int64(limit))",
            each: { row throws(StoreError) in UUIDText(try row.next(PostgresUUID.self)) })
    }

    struct Identity {
        var id: WhisperID
        var epoch: Epoch
        var isBanned: Bool
    }

    /// The existing identities among `ids`.
    static func identities(_ ids: [WhisperID]) -> Statement<[Identity]> {
        Statement(
            "SELECT whisper_id, epoch, is_banned FROM auth.mail_identities WHERE whisper_id = ANY (\(ids)::int8[])",
            each: { row throws(StoreError) in
                Identity(id: try row.next(), epoch: Epoch(value: try row.next()), isBanned: try row.next())
            })
    }

    /// - Parameter old: as it was locked; `nil` for a new one.
    static func store(_ change: GroupChange, insteadOf old: Group?) -> [SQL] {
        let group = change.group
        let id = PostgresUUID(group.id)
        guard !group.members.isEmpty else { return ["DELETE FROM router.groups WHERE group_id = \(id)"] }
        let new = group.members.filter { !(old?.members.contains($0) ?? false) }
        let identities = new.map(\.identity)
        let roles = new.map { Int16($0.role.rank) }
        let times = new.map { PostgresTimestamp(milliseconds: $0.joinedAt.milliseconds) }
        let (strangers, risen) = (Set(change.strangers), Set(group.risen(since: old)))
        let byStrangers = identities.map(strangers.contains)
        let areRaised = identities.map(risen.contains)
        let kept = group.members.map(\.identity)
        return [
            """
            INSERT INTO router.groups (group_id, title, owner, revision, created_at, updated_at)
            VALUES (\(id), \(group.title), \(group.owner), \(group.revision), \(group.createdAt), \(group.updatedAt))
            ON CONFLICT (group_id) DO UPDATE SET title = excluded.title, owner = excluded.owner,
                revision = excluded.revision, updated_at = excluded.updated_at
            """,
            // Before the next, so that there are never two owners.
            "DELETE FROM router.group_members WHERE group_id = \(id) AND member <> ALL (\(kept)::int8[])",
            """
            INSERT INTO router.group_members AS m (group_id, member, role, joined_at, added_by_stranger, raised)
            SELECT \(id), n.member, n.role, n.joined_at, n.by_stranger,
                CASE WHEN n.is_raised THEN nextval('router.outcome_numbers') ELSE 0 END
            FROM unnest(\(identities)::int8[], \(roles)::int2[], \(times)::timestamptz[], \(byStrangers)::bool[],
                \(areRaised)::bool[]) AS n (member, role, joined_at, by_stranger, is_raised)
            ON CONFLICT (group_id, member) DO UPDATE SET role = excluded.role, raised = GREATEST(m.raised, excluded.raised)
            """,
        ]
    }

    /// Everybody in the groups of `member` that come behind a place of its list, group by group. About as many groups as fit into a
    /// frame: `pageMembersMax` members are more than that.
    ///
    /// The list has three parts, by the member's role, and each part the order of age. A role that rises meanwhile would move its group
    /// to a part that has been read: such a group stays in its old part too.
    /// - Parameters:
    ///   - cursor: `nil` for the beginning.
    ///   - limit: of groups.
    static func page(of member: WhisperID, after cursor: GroupCursor?, limit: Int) -> Statement<[Listed]> {
        let part = Int32(cursor?.part ?? 0)
        let joinedAt = cursor?.joinedAt ?? Timestamp(milliseconds: 0)
        let group = PostgresUUID(cursor?.group ?? UUIDText(high: 0, low: 0))
        // To the beginning belongs no earlier page.
        let since = cursor?.since ?? .max
        return Statement(
            """
            WITH mine AS MATERIALIZED (
                SELECT p.part, m.joined_at, m.group_id
                FROM (
                    -- In the precision of cursors: a time with more digits would always be behind its own cursor.
                    SELECT group_id, role, raised, date_trunc('milliseconds', joined_at) AS joined_at
                    FROM router.group_members WHERE member = \(member)
                ) m CROSS JOIN generate_series(\(part), 2) AS p (part)
                WHERE (m.role = p.part OR (m.role < p.part AND m.raised > \(since)))
                    AND (p.part > \(part) OR (m.joined_at, m.group_id) > (\(joinedAt), \(group)))
                ORDER BY p.part, m.joined_at, m.group_id LIMIT \(Int64(limit))
            ), sized AS (
                SELECT i.*, (SELECT count(*) FROM router.group_members c WHERE c.group_id = i.group_id) AS size FROM mine i
            ), placed AS (
                SELECT *, sum(size) OVER (ORDER BY part, joined_at, group_id ROWS UNBOUNDED PRECEDING) - size AS members_before
                FROM sized
            )
            SELECT i.part, i.joined_at, g.group_id, g.title, g.owner, g.revision, g.created_at, g.updated_at,
                m.member, m.role, m.joined_at
            FROM placed i
            JOIN router.groups g ON g.group_id = i.group_id
            JOIN router.group_members m ON m.group_id = i.group_id
            WHERE i.members_before < \(Self.pageMembersMax)
            ORDER BY i.part, i.joined_at, i.group_id
            """, decode: Self.listed)
    }

    /// The shortest member takes more than 64 bytes of a frame.
    private static let pageMembersMax = Int64(Limits.pageBytesMax / 64)

    /// A group, and where it stands in the list.
    struct Listed {
        var part: Int
        var joinedAt: Timestamp
        var group: Group
    }

    private static func listed(_ rows: Rows) throws(StoreError) -> [Listed] {
        var list: [Listed] = []
        for var row in rows {
            let (part, joinedAt) = (Int(try row.next(Int32.self)), try row.next(Timestamp.self))
            let id = UUIDText(try row.next(PostgresUUID.self))
            let group = Group(
                id: id, title: try row.next(), owner: try row.next(), revision: try row.next(),
                createdAt: try row.next(), updatedAt: try row.next(), members: [])
            if list.last?.group.id != id || list.last?.part != part {
                list.append(Listed(part: part, joinedAt: joinedAt, group: group))
            }
            list[list.count - 1].group.members.append(try Self.member(&row))
        }
        for index in list.indices { list[index].group.members.sort(by: Group.Member.isOlder) }
        return list
    }

    /// The last number that was drawn, of those that `raised` holds.
    static let lastRaised = Statement<Int64>(value: "SELECT last_value FROM router.outcome_numbers")
}
