import Contract
import WhisperClient

extension Verb {
    private static let groupID = TypedField.groupID("groupId")
    private static let members = TypedField.whisperIDs(
        "members", count: 1...Limits.groupMembersMax, about: "The members among `newcomers` whom the person has seen.")
    private static let isAgreed = TypedField.bool(
        "isAgreed", about: "The person was asked, and agreed. With `needsConsent` it takes that."
    ).optional

    static let groupAdmit = Verb(
        "group_admit", of: "groups",
        about:
            "Says that the person has seen newcomers of a group: what waits for them goes, and messages from now on do too.",
        [Self.groupID.field, Self.members.field, Self.isAgreed.field], type: "group",
        [Field("group", .object(Shapes.group))], errors: [.noIdentity, .notFound, .notAgreed, .store],
        samples: (
            #"{"groupId":"grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61","members":["WSP-AAAA-AAAA-AAAA"]}"#,
            #"{"type":"group","group":\#(Shapes.groupSample)}"#
        ),
        .client { opened, parameters, json in
            let id = try opened.group(try parameters[Self.groupID]).id
            let (members, isAgreed) = (try parameters[Self.members], try parameters[Self.isAgreed] ?? false)
            let group = try await opened.with { try $0.groups.admit(members, to: id, isAgreed: isAgreed, $0) }
            json.add("group", object: group) { Shapes.write($0, &$1) }
        })
}
