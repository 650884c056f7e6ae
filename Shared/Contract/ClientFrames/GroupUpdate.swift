/// "Change the group." Answered by `group_event` (contract §6, spec §7).
package struct GroupUpdate: ClientFrame {
    package struct RoleChange: Hashable, ObjectValue {
        package var identity: WhisperID
        package var role: GroupRole

        private static let identity = TypedField.whisperID("whisperId")
        /// The owner changes by leaving only.
        private static let role = TypedField.word(
            "role", of: [GroupRole.admin.rawValue, GroupRole.member.rawValue])

        static let schema = ObjectSchema([Self.identity.field, Self.role.field])

        init(_ payload: Payload) throws(Payload.Corrupted) {
            self.identity = try payload[Self.identity]
            guard let role = GroupRole(rawValue: try payload[Self.role]) else { throw Payload.Corrupted() }
            self.role = role
        }

        package init(_ identity: WhisperID, _ role: GroupRole) {
            self.identity = identity
            self.role = role
        }

        var json: [UInt8] {
            var json = JSONWriter(capacity: 64)
            json.add(Self.identity, self.identity)
            json.add(Self.role, self.role.rawValue)
            return json.finished()
        }
    }

    package let groupID: UUIDText
    package let title: String?
    package let addMembers: [WhisperID]
    package let removeMembers: [WhisperID]
    package let roleChanges: [RoleChange]
    /// `nil` if the caller has not signed it.
    package let signed: SignedGroupChange?

    private static let groupID = TypedField.groupID("groupId")
    private static let title = TypedField.text("title", Limits.groupTitleCharacters).optional
    private static let addMembers = TypedField.whisperIDs("addMembers", count: 0...Limits.groupMembersMax, .optional)
    private static let removeMembers = TypedField.whisperIDs(
        "removeMembers", count: 0...Limits.groupMembersMax, .optional)
    private static let roleChanges = TypedField<[RoleChange]>.objects(
        "roleChanges", count: 0...Limits.groupMembersMax, .optional)

    package static let definition: FrameDefinition = FrameDefinition(
        "group_update",
        about: """
            Changes a group: all of it or nothing. Owner and admins add, remove and rename; only the owner gives roles; anyone \
            may remove themselves, and if that is the owner the oldest admin, else the oldest member, takes over. Who owns as \
            many groups as allowed is passed over. The last member's leaving ends the group.
            """,
        route: .service(.router), rate: Rates.groups,
        fields: CommonFields.privileged + [
            Self.groupID.field, Self.title.field, Self.addMembers.field, Self.removeMembers.field,
            Self.roleChanges.field,
        ] + SignedGroupChange.fields,
        refusals: [
            (
                .invalidPayload,
                "The group would have more than \(Limits.groupMembersMax) members, or somebody is both added and removed, or removed and given a role."
            ),
            (.notFound, "There is no such group, no such identity to add, or no such member to remove or give a role."),
            (
                .forbidden,
                "The caller is not a member, or the caller's role is too low. The owner would be removed or given another role. A new member is banned or in too many groups. The owner leaves, and everybody who stays owns too many groups."
            ),
            (.rateLimited, "The caller has added too many identities in a day that are not its peers."),
        ],
        samples: [
            CommonFields.sample(
                #""groupId":"grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61","title":"Climbing","addMembers":["WSP-F4YH-3J4Z-7RP7"],"removeMembers":[],"roleChanges":[{"whisperId":"WSP-AAAA-AAAA-AAAA","role":"admin"}]"#
            ),
            CommonFields.sample(
                #""groupId":"grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61","removeMembers":["WSP-JBPU-D452-TLT4"]"#),
            CommonFields.sample(
                #""groupId":"grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61","addMembers":["WSP-F4YH-3J4Z-7RP7"],"actorSig":"\#(LiveFields.sampleSignature)","timestamp":1730000000000"#
            ),
        ])

    /// Asks for exactly the signed change.
    package init(_ signed: SignedGroupChange, of group: UUIDText) {
        (self.groupID, self.title, self.signed) = (group, signed.title, signed)
        (self.addMembers, self.removeMembers, self.roleChanges) = (signed.added, signed.removed, signed.roles)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.groupID = try payload[Self.groupID]
        self.title = try payload[Self.title]
        self.addMembers = try payload[Self.addMembers]
        self.removeMembers = try payload[Self.removeMembers]
        self.roleChanges = try payload[Self.roleChanges]
        self.signed = try SignedGroupChange(
            added: self.addMembers, removed: self.removeMembers, roles: self.roleChanges, title: self.title,
            in: payload)
    }

    package func write(to json: inout JSONWriter) {
        json.add(Self.groupID, self.groupID)
        json.add(Self.title, self.title)
        if !self.addMembers.isEmpty { json.add(Self.addMembers, self.addMembers) }
        if !self.removeMembers.isEmpty { json.add(Self.removeMembers, self.removeMembers) }
        if !self.roleChanges.isEmpty { json.add(Self.roleChanges, self.roleChanges) }
        SignedGroupChange.write(self.signed, to: &json)
    }
}

/// A member's role in a group, which decides its rights.
package enum GroupRole: String, CaseIterable, Sendable {
    case owner, admin, member
}
