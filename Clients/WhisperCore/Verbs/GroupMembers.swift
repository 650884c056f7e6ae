import Contract
import WhisperClient

extension Verb {
    private static let groupID = TypedField.groupID("groupId")

    static let groupMembers = Verb(
        "group_members", of: "groups",
        about:
            "Says who is in a group, the oldest member first. That is the server's word: see `newcomers` of the group.",
        [Self.groupID.field], type: "members",
        [Field("members", .array(of: .object(Shapes.member), count: 0...Limits.groupMembersMax))],
        errors: [.noIdentity, .notFound, .store],
        samples: (
            #"{"groupId":"grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61"}"#,
            #"{"type":"members","members":[{"whisperId":"WSP-AAAA-AAAA-AAAA","name":"Ann","role":"owner","joinedAt":1767225600000,"hasKeys":true}]}"#
        ),
        .read { opened, parameters, json in
            let members = try opened.group(try parameters[Self.groupID]).members
            let known = try members.map { ($0, try opened.store.contacts.contact($0.id)) }
            json.add("members", objects: known) { entry, json in
                let (member, contact) = entry
                json.add("whisperId", member.id)
                json.add("name", contact?.name)
                json.add("role", member.role.rawValue)
                json.add("joinedAt", member.joinedAt)
                json.add("hasKeys", contact != nil)
            }
        })
}
