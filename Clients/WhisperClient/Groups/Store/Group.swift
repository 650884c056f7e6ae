package import Contract

/// A group as this device knows it. Its members are the server's word, unless a member's signature vouches for them.
package struct Group: Sendable, Equatable {
    package struct Member: Sendable, Equatable {
        package var id: WhisperID
        package var role: GroupRole
        package var joinedAt: Timestamp

        package init(id: WhisperID, role: GroupRole, joinedAt: Timestamp) {
            self.id = id
            self.role = role
            self.joinedAt = joinedAt
        }
    }

    /// In lower case, with its prefix.
    package var id: String
    package var title: String
    package var createdAt: Timestamp
    package var updatedAt: Timestamp
    /// 0 if only mail of the group has come, and nothing is known about it yet.
    package var revision: Int64
    /// Whether we are in it.
    package var isMember: Bool
    package var members: [Member]
    /// Members whom nobody vouches for, and whom the person here has not seen. Nothing is sealed for them before.
    package var newcomers: [WhisperID] = []
    /// All other members were verified here: newcomers must be agreed to.
    package var areOthersVerified = false

    package func role(of id: WhisperID) -> GroupRole? { self.members.first { $0.id == id }?.role }
}

extension Group {
    /// As the server describes it.
    package init(_ group: GroupDescription, ownID: WhisperID) {
        self.init(
            id: Conversation.key(ofGroup: "\(GroupIDText.prefix)\(group.groupID)"), title: group.title,
            createdAt: group.createdAt, updatedAt: group.updatedAt, revision: group.revision,
            isMember: group.members.contains { $0.whisperID == ownID },
            members: group.members.map { Member(id: $0.whisperID, role: $0.role, joinedAt: $0.joinedAt) })
    }
}

/// A change of a group.
package struct GroupChange: Sendable, Equatable {
    /// `nil` if the group was only found in the server's list.
    package var actor: WhisperID?
    package var added: [WhisperID] = []
    package var removed: [WhisperID] = []
    /// People for whom a member's signature vouches.
    package var vouched: Set<WhisperID> = []

    package init(actor: WhisperID? = nil, added: [WhisperID] = [], removed: [WhisperID] = []) {
        self.actor = actor
        self.added = added
        self.removed = removed
    }
}
