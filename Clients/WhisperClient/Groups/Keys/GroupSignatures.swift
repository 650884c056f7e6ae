import Contract

/// Signatures of groups: who makes or changes one signs it, and members check it (contract §13b).
extension KeyPair {
    /// - Parameters:
    ///   - group: in lower case, with its prefix; `nil` for a group to be made.
    ///   - revision: before the change; 0 for a group to be made.
    func signed(
        _ order: GroupUpdateOrder, of group: String?, revision: Int64, at time: Timestamp
    ) -> SignedGroupChange {
        let roles = order.sortedRoles.map { GroupUpdate.RoleChange($0.key, $0.value) }
        let text = SignedGroupChange.text(
            added: order.added, removed: order.removed, roles: roles, title: order.title)
        let statement = SignedGroupChange.statement(
            group: group, revision: revision, digest: Sodium.sha256(text), timestamp: time)
        return SignedGroupChange(
            added: order.added, removed: order.removed, roles: roles, title: order.title, timestamp: time,
            signature: Bytes64(self.sign(digestOf: statement))!)
    }
}

extension GroupEvent {
    /// Whether its actor, whose keys these are, signed this very change at this very revision.
    func isSigned(by keys: PublicKeys) -> Bool {
        guard let signed = self.signed else { return false }
        let group = Conversation.key(ofGroup: "\(GroupIDText.prefix)\(self.group.groupID)")
        let statement = SignedGroupChange.statement(
            group: self.event == .created ? nil : group, revision: self.group.revision - 1,
            digest: Sodium.sha256(signed.text), timestamp: signed.timestamp)
        return Sodium.verify(
            signed.signature.bytes, of: Sodium.sha256(statement), publicKey: keys.sign.bytes)
    }
}
