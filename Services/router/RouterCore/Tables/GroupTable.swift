import Contract
import Store

/// The only code that reads or writes `router.groups` and `router.group_members`; `AcceptStatement` looks members up.
enum GroupTable {
    /// The group, locked until the transaction ends. `members` must be asked for behind it.
    static func lock(_ id: UUIDText) -> SQL {
        """
        SELECT title, owner, revision, created_at, updated_at FROM router.groups
        WHERE group_id = \(PostgresUUID(id)) FOR UPDATE
        """
    }

    static func members(of id: UUIDText) -> SQL {
        "SELECT member, role, joined_at FROM router.group_members WHERE group_id = \(PostgresUUID(id))"
    }

    /// - Returns: `nil` if there is no such group.
    static func group(_ id: UUIDText, _ group: Rows, members: Rows) throws(StoreError) -> Group? {
        guard var row = group.first else { return nil }
        var list: [Group.Member] = []
        list.reserveCapacity(members.count)
        for var member in members { list.append(try Self.member(&member)) }
        return Group(
            id: id, title: try row.next(), owner: try row.next(), revision: try row.next(), createdAt: try row.next(),
            updatedAt: try row.next(), members: list)
    }

    private static func member(_ row: inout Row) throws(StoreError) -> Group.Member {
        Group.Member(
            identity: try row.next(), role: GroupRole.stored[Int(try row.next(Int16.self))], joinedAt: try row.next())
    }

    /// Which of these exist: `(id, epoch, is banned)`.
    static func identities(_ ids: [WhisperID]) -> SQL {
        "SELECT whisper_id, epoch, is_banned FROM auth.mail_identities WHERE whisper_id = ANY (\(ids)::int8[])"
    }

    /// - Parameter old: as it was locked; `nil` for a new one.
    static func store(_ group: Group, insteadOf old: Group?) -> [SQL] {
        let id = PostgresUUID(group.id)
        guard !group.members.isEmpty else { return ["DELETE FROM router.groups WHERE group_id = \(id)"] }
        let new = group.members.filter { !(old?.members.contains($0) ?? false) }
        let identities = new.map(\.identity)
        let roles = new.map(\.role.stored)
        let times = new.map { PostgresTimestamp(milliseconds: $0.joinedAt.milliseconds) }
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
            INSERT INTO router.group_members (group_id, member, role, joined_at)
            SELECT \(id), * FROM unnest(\(identities)::int8[], \(roles)::int2[], \(times)::timestamptz[])
            ON CONFLICT (group_id, member) DO UPDATE SET role = excluded.role
            """,
        ]
    }

    /// Everybody in every group of `member`, group by group, the group that changed last first.
    static func all(of member: WhisperID) -> SQL {
        """
        SELECT g.group_id, g.title, g.owner, g.revision, g.created_at, g.updated_at, m.member, m.role, m.joined_at
        FROM router.group_members mine
        JOIN router.groups g ON g.group_id = mine.group_id
        JOIN router.group_members m ON m.group_id = g.group_id
        WHERE mine.member = \(member)
        ORDER BY g.updated_at DESC, g.group_id
        LIMIT \(RouterLimits.groupListMembersMax)
        """
    }

    static func groups(_ rows: Rows) throws(StoreError) -> [Group] {
        var groups: [Group] = []
        for var row in rows {
            let id = UUIDText(try row.next(PostgresUUID.self))
            let group = Group(
                id: id, title: try row.next(), owner: try row.next(), revision: try row.next(),
                createdAt: try row.next(), updatedAt: try row.next(), members: [])
            if groups.last?.id != id { groups.append(group) }
            groups[groups.count - 1].members.append(try Self.member(&row))
        }
        // The last one may have been cut off in its middle.
        if rows.count == Int(RouterLimits.groupListMembersMax) { groups.removeLast() }
        for index in groups.indices { groups[index].members.sort(by: Group.Member.isOlder) }
        return groups
    }
}

extension GroupRole {
    /// In the order of the numbers that they are stored as.
    fileprivate static let stored: [GroupRole] = [.owner, .admin, .member]
    fileprivate var stored: Int16 { Int16(Self.stored.firstIndex(of: self)!) }
}
