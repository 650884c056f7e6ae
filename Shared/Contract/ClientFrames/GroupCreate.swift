/// "A new group, with these people." Answered by `group_event` (contract §6, spec §7).
package struct GroupCreate: Sendable {
    package let title: String
    /// As given: the caller or doubles may stand in it.
    package let memberIDs: [WhisperID]
    /// `nil` if the caller has not signed it.
    package let signed: SignedGroupChange?

    package static let definition: FrameDefinition = FrameDefinition(
        "group_create",
        about: "Makes a group that the caller owns. The new members get the event too.",
        route: .service(.router), rate: Rates.groups,
        fields: CommonFields.privileged + [
            Field("title", .text(Limits.groupTitleCharacters)),
            Field(
                "memberIds", .array(of: .whisperID, count: 0...Limits.groupMembersMax - 1),
                about: "Everybody but the caller."),
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

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.title = payload.text(Self.definition.field("title"))
        self.memberIDs = try payload.whisperIDs(Self.definition.field("memberIds"))
        self.signed = try SignedGroupChange(
            added: self.memberIDs, removed: [], roles: [], title: self.title, in: payload)
    }
}
