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

        /// Whether `a` is the older member; between members who joined together, the lower id counts as older.
        static func isOlder(_ a: Member, _ b: Member) -> Bool {
            (a.joinedAt, a.identity.bits) < (b.joinedAt, b.identity.bits)
        }
    }

    package let id: UUIDText
    package var title: String
    /// The owner; after the group has ended, the last one to leave.
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

    /// As clients see it.
    var description: GroupDescription {
        GroupDescription(
            groupID: self.id, title: self.title, ownerID: self.owner, createdAt: self.createdAt,
            updatedAt: self.updatedAt, revision: self.revision,
            members: self.members.map { .init(whisperID: $0.identity, role: $0.role, joinedAt: $0.joinedAt) })
    }
}

/// The effect of one frame on a group.
package struct GroupChange: Hashable, Sendable {
    package var event: GroupEvent.Event
    /// As it is now.
    package var group: Group
    package var actor: WhisperID
    package var added: [WhisperID]
    package var removed: [WhisperID]
    /// As the actor signed it: kept with the event, and handed on.
    package var signed: SignedGroupChange?
    /// The identities in `added` who are not the actor's peers, as `GroupBounds` found.
    package var strangers: [WhisperID] = []
    /// The frame changes nothing: nothing is stored, and only the actor is answered.
    package var isEmpty = false

    /// Recipients of the event: the present members, and those just removed.
    package var audience: [WhisperID] { self.group.members.map(\.identity) + self.removed }

    /// The payload of `group_event`.
    var payload: [UInt8] {
        GroupEvent(
            event: self.event, group: self.group.description, actor: self.actor, added: self.added,
            removed: self.removed, signed: self.signed
        ).json
    }
}

extension GroupRole {
    /// The highest first. Also the number that a role is stored as.
    static let ranked: [GroupRole] = [.owner, .admin, .member]
    var rank: Int { Self.ranked.firstIndex(of: self)! }
}
