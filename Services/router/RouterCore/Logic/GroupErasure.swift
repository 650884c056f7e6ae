import Contract

extension Group {
    /// The group without an erased member (contract §20.2). Its owner may have been the one who has gone: `GroupBounds` passes it on.
    func leaving(_ member: WhisperID, at now: Timestamp) -> GroupChange {
        var group = self
        group.members.removeAll { $0.identity == member }
        group.revision += 1
        group.updatedAt = max(now, self.updatedAt)
        return GroupChange(event: .updated, group: group, actor: member, added: [], removed: [member])
    }

    /// The oldest admin, else the oldest member, becomes the owner, however many groups it owns: nobody else is there to choose.
    mutating func passOn() {
        let heir = self.members.firstIndex { $0.role == .admin } ?? self.members.startIndex
        self.members[heir].role = .owner
        self.owner = self.members[heir].identity
    }
}

extension GroupEvent {
    /// The event as it is kept, without a word about an erased identity: clients find changes by comparing lists. An actor that was
    /// erased becomes the owner. A signature that covers the identity goes.
    func without(_ identity: WhisperID) -> GroupEvent {
        func others(_ ids: [WhisperID]) -> [WhisperID] { ids.filter { $0 != identity } }
        let members = self.group.members.filter { $0.whisperID != identity }
        let owner = self.group.ownerID == identity ? members.first?.whisperID : self.group.ownerID
        let heir = owner ?? others(self.added + self.removed).first ?? self.group.ownerID
        let isSigned = self.signed.map { signed in
            self.actor != identity
                && !(signed.added + signed.removed + signed.roles.map(\.identity)).contains(identity)
        }
        return GroupEvent(
            event: self.event,
            group: GroupDescription(
                groupID: self.group.groupID, title: self.group.title, ownerID: heir, createdAt: self.group.createdAt,
                updatedAt: self.group.updatedAt, revision: self.group.revision, members: members),
            actor: self.actor == identity ? heir : self.actor, added: others(self.added), removed: others(self.removed),
            signed: isSigned == true ? self.signed : nil)
    }
}
