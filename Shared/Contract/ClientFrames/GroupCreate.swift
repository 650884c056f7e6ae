/// "A new group, with these people." Answered by `group_event` (contract §6, spec §7).
package struct GroupCreate: ClientFrame {
    package let title: String
    /// As given: the caller or doubles may stand in it.
    package let memberIDs: [WhisperID]
    /// `nil` if the caller has not signed it.
    package let signed: SignedGroupChange?

    private static let title = TypedField.text("title", Limits.groupTitleCharacters)
    private static let memberIDs = TypedField.whisperIDs(
        "memberIds", count: 0...Limits.groupMembersMax - 1, about: "Everybody but the caller.")

    package static let definition: FrameDefinition = FrameDefinition(
        "group_create",
        about: "Makes a group that the caller owns. The new members get the event too.",
        route: .service(.router), rate: Rates.groups,
        fields: CommonFields.privileged + [
            Self.title.field, Self.memberIDs.field,
        ] + SignedGroupChange.fields,
        refusals: [
            (.notFound, "A member is unknown."),
            (
                .forbidden,
                "A member is banned, the caller owns too many groups, or the caller or a member is in too many."
            ),
            (.rateLimited, "The caller has added too many identities in a day that are not its peers."),
        ],
        samples: [
            CommonFields.sample(#""title":"Hiking","memberIds":["WSP-AAAA-AAAA-AAAA","WSP-F4YH-3J4Z-7RP7"]"#),
            CommonFields.sample(#""title":"Notes","memberIds":[]"#),
            CommonFields.sample(
                #""title":"Tea","memberIds":["WSP-AAAA-AAAA-AAAA"],"actorSig":"\#(LiveFields.sampleSignature)","timestamp":1730000000000"#
            ),
        ])

    /// Asks for exactly the signed change.
    package init(_ signed: SignedGroupChange) {
        (self.title, self.memberIDs, self.signed) = (signed.title ?? "", signed.added, signed)
    }

    /// Without a signature.
    package init(title: String, memberIDs: [WhisperID]) {
        (self.title, self.memberIDs, self.signed) = (title, memberIDs, nil)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.title = try payload[Self.title]
        self.memberIDs = try payload[Self.memberIDs]
        self.signed = try SignedGroupChange(
            added: self.memberIDs, removed: [], roles: [], title: self.title, in: payload)
    }

    package func write(to json: inout JSONWriter) {
        json.add(Self.title, self.title)
        json.add(Self.memberIDs, self.memberIDs)
        SignedGroupChange.write(self.signed, to: &json)
    }
}
