import Contract
import WhisperClient

extension Verb {
    private static let groupID = TypedField.groupID("groupId")
    private static let title = TypedField.text("title", Limits.groupTitleCharacters).optional
    private static let people = 0...Limits.groupMembersMax
    private static let add = TypedField.whisperIDs("add", count: Self.people, .optional)
    private static let remove = TypedField.whisperIDs("remove", count: Self.people, .optional)
    private static let admins = TypedField.whisperIDs(
        "admins", count: Self.people, .optional, about: "New admins.")
    private static let members = TypedField.whisperIDs(
        "members", count: Self.people, .optional, about: "Admins who become ordinary members again.")

    static let groupUpdate = Verb(
        "group_update", of: "groups",
        about:
            "Changes a group: all of it or nothing. Owner and admins add, remove and rename. Only the owner gives roles.",
        [
            Self.groupID.field, Self.title.field, Self.add.field, Self.remove.field, Self.admins.field,
            Self.members.field,
        ], type: "group",
        [Field("group", .object(Shapes.group))], errors: Self.groupErrors + [.notMember],
        samples: (
            #"{"groupId":"grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61","add":["WSP-AAAA-AAAA-AAAA"]}"#,
            #"{"type":"group","group":\#(Shapes.groupSample)}"#
        ),
        .server { opened, parameters, json in
            let id = try opened.group(try parameters[Self.groupID]).id
            var roles: [WhisperID: GroupRole] = [:]
            for person in try parameters[Self.admins] { roles[person] = .admin }
            for person in try parameters[Self.members] { roles[person] = .member }
            let order = GroupUpdateOrder(
                title: try parameters[Self.title], added: try parameters[Self.add],
                removed: try parameters[Self.remove], roles: roles)
            let group = try await opened.with { try await $0.groups.update(id, order, $0) }
            json.add("group", object: group) { Shapes.write($0, &$1) }
        })
}
