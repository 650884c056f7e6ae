package import Contract

/// A group as it stands: who is in it, and who they are in it.
package struct Group: Hashable, Sendable {
    package struct Member: Hashable, Sendable {
        package var identity: WhisperID
        package var role: GroupRole
        package var joinedAt: Timestamp

        package init(identity: WhisperID, role: GroupRole, joinedAt: Timestamp) {
            self.identity = identity
            self.role = role
            self.joinedAt = joinedAt
        }

        /// Who is the older member; of those who came together, the one with the lower id.
        static func isOlder(_ a: Member, _ b: Member) -> Bool {
            (a.joinedAt, a.identity.bits) < (b.joinedAt, b.identity.bits)
        }
    }

    package let id: UUIDText
    package var title: String
    /// Of a group that has ended: who left last.
    package var owner: WhisperID
    package var revision: Int64
    package let createdAt: Timestamp
    package var updatedAt: Timestamp
    /// Oldest first. Empty: the group has ended.
    package var members: [Member]

    package init(
        id: UUIDText, title: String, owner: WhisperID, revision: Int64, createdAt: Timestamp, updatedAt: Timestamp,
        members: [Member]
    ) {
        self.id = id
        self.title = title
        self.owner = owner
        self.revision = revision
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.members = members.sorted(by: Member.isOlder)
    }

    func role(of identity: WhisperID) -> GroupRole? {
        self.members.first { $0.identity == identity }?.role
    }

    /// The owner has left, and others have stayed.
    var lacksOwner: Bool { !self.members.isEmpty && self.role(of: self.owner) == nil }

    /// Members whose role is higher than it was.
    func risen(since old: Group?) -> [WhisperID] {
        guard let old else { return [] }
        let before = Dictionary(uniqueKeysWithValues: old.members.map { ($0.identity, $0.role.rank) })
        return self.members.filter { $0.role.rank < before[$0.identity] ?? 0 }.map(\.identity)
    }

    /// As clients see it (`GroupFrames.group`).
    var json: [UInt8] {
        var writer = JSONWriter(capacity: 256 + 96 * self.members.count)
        writer.add("groupId", group: self.id)
        writer.add("title", self.title)
        writer.add("ownerId", self.owner)
        writer.add("createdAt", self.createdAt)
        writer.add("updatedAt", self.updatedAt)
        writer.add("revision", self.revision)
        writer.add("members", objects: self.members) { member, writer in
            writer.add("whisperId", member.identity)
            writer.add("role", member.role.rawValue)
            writer.add("joinedAt", member.joinedAt)
        }
        return writer.finished()
    }
}

/// What one frame did to a group.
package struct GroupChange: Hashable, Sendable {
    package enum Event: String, Sendable { case created, updated }

    package var event: Event
    /// As it is now.
    package var group: Group
    package var actor: WhisperID
    package var added: [WhisperID]
    package var removed: [WhisperID]
    /// Those of `added` who are not the actor's peers, as `GroupBounds` found.
    package var strangers: [WhisperID] = []
    /// The frame asked for nothing that was not so already: nothing is stored, and nobody but the actor hears of it.
    package var isEmpty = false

    /// Who is to hear of it: those who are in the group now, and those who no longer are.
    package var audience: [WhisperID] { self.group.members.map(\.identity) + self.removed }

    /// The payload of `group_event`.
    var payload: [UInt8] {
        let group = self.group.json
        var writer = JSONWriter(capacity: group.count + 256)
        writer.add("event", self.event.rawValue)
        writer.add("group", json: group)
        writer.add("actor", self.actor)
        writer.add("added", identities: self.added)
        writer.add("removed", identities: self.removed)
        return writer.finished()
    }
}

extension GroupRole {
    /// The highest first. Also the number that a role is stored as.
    static let ranked: [GroupRole] = [.owner, .admin, .member]
    var rank: Int { Self.ranked.firstIndex(of: self)! }
}
