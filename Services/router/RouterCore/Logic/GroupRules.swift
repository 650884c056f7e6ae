package import Contract

/// Rules for requests that create or change a group (contract §6, §13). A frame is done as a whole or not at all.
package enum GroupRules {
    /// All identities that the frame may mean, and whether they are banned. A missing identity does not exist.
    package typealias Known = [WhisperID: Bool]

    /// - Parameter id: of the new group.
    package static func create(
        _ frame: GroupCreate, as id: UUIDText, by caller: WhisperID, known: Known, at now: Timestamp
    ) throws(Refusal) -> GroupChange {
        let others = unique(frame.memberIDs).filter { $0 != caller }
        try Self.check(newMembers: others, known)
        let members =
            [Group.Member(identity: caller, role: .owner, joinedAt: now)]
            + others.map { Group.Member(identity: $0, role: .member, joinedAt: now) }
        try Self.check(size: members.count)
        let group = Group(
            id: id, title: frame.title, owner: caller, revision: 1, createdAt: now, updatedAt: now, members: members)
        return GroupChange(
            event: .created, group: group, actor: caller, added: others, removed: [], signed: frame.signed)
    }

    /// An owner who leaves is still named as the owner: `GroupBounds` decides who takes over.
    /// - Parameter group: `nil` if there is none of that id.
    package static func update(
        _ group: Group?, _ frame: GroupUpdate, by caller: WhisperID, known: Known, at now: Timestamp
    ) throws(Refusal) -> GroupChange {
        guard var group else { throw Refusal(.notFound, "no such group") }
        guard let role = group.role(of: caller) else { throw Refusal(.forbidden, "only members may change the group") }
        let before = Set(group.members.map(\.identity))
        let removed = unique(frame.removeMembers)
        let added = unique(frame.addMembers).filter { !before.contains($0) }
        try Self.check(frame, of: group, by: caller, role, removed: removed)
        try Self.check(newMembers: added, known)

        // A time that runs backwards must not make a newcomer the oldest.
        let joinedAt = max(now, group.members.last?.joinedAt ?? now)
        var members = group.members + added.map { .init(identity: $0, role: .member, joinedAt: joinedAt) }
        for change in frame.roleChanges {
            guard let index = members.firstIndex(where: { $0.identity == change.identity }) else {
                throw Refusal(.notFound, "no such member to give a role")
            }
            members[index].role = change.role
        }
        members.removeAll { removed.contains($0.identity) }
        try Self.check(size: members.count)

        let title = frame.title ?? group.title
        guard members != group.members || title != group.title else {
            return GroupChange(event: .updated, group: group, actor: caller, added: [], removed: [], isEmpty: true)
        }
        group.title = title
        group.members = members.sorted(by: Group.Member.isOlder)
        group.revision += 1
        group.updatedAt = max(now, group.updatedAt)
        return GroupChange(
            event: .updated, group: group, actor: caller, added: added, removed: removed, signed: frame.signed)
    }

    /// Whether the caller may do all that, and whether it makes sense together.
    private static func check(
        _ frame: GroupUpdate, of group: Group, by caller: WhisperID, _ role: GroupRole, removed: [WhisperID]
    ) throws(Refusal) {
        let needsAdmin = frame.title != nil || !frame.addMembers.isEmpty || removed.contains { $0 != caller }
        guard !needsAdmin || role != .member else {
            throw Refusal(.forbidden, "only the owner and admins may add or remove members or rename the group")
        }
        guard frame.roleChanges.isEmpty || role == .owner else {
            throw Refusal(.forbidden, "only the owner gives roles")
        }
        guard !frame.roleChanges.contains(where: { $0.identity == group.owner }) else {
            throw Refusal(.forbidden, "the owner's role cannot be changed; it passes on when the owner leaves")
        }
        guard caller == group.owner || !removed.contains(group.owner) else {
            throw Refusal(.forbidden, "the owner cannot be removed")
        }
        let added = Set(frame.addMembers)
        guard !removed.contains(where: { added.contains($0) }) else {
            throw Refusal(.invalidPayload, "addMembers and removeMembers: must not name the same identity")
        }
        guard !frame.roleChanges.contains(where: { removed.contains($0.identity) }) else {
            throw Refusal(.invalidPayload, "roleChanges: must not name a member that is removed")
        }
        guard removed.allSatisfy({ group.role(of: $0) != nil }) else {
            throw Refusal(.notFound, "no such member to remove")
        }
    }

    private static func check(newMembers: [WhisperID], _ known: Known) throws(Refusal) {
        for identity in newMembers {
            guard let isBanned = known[identity] else { throw Refusal(.notFound, "no such identity to add") }
            guard !isBanned else { throw Refusal(.forbidden, "a new member is banned") }
        }
    }

    private static func check(size: Int) throws(Refusal) {
        guard size <= Limits.groupMembersMax else {
            throw Refusal(.invalidPayload, "a group has at most \(Limits.groupMembersMax) members")
        }
    }

    /// Each once, in the order in which it first came.
    private static func unique(_ ids: [WhisperID]) -> [WhisperID] {
        var seen: Set<WhisperID> = []
        return ids.filter { seen.insert($0).inserted }
    }
}
