import Contract
import WhisperClient

extension Verb {
    private static let title = TypedField.text("title", Limits.groupTitleCharacters)
    private static let members = TypedField.whisperIDs(
        "members", count: 0...Limits.groupMembersMax - 1, about: "Everybody else. They need not be contacts.")

    static let groupErrors: [CoreError.Code] = [
        .noIdentity, .offline, .unreachable, .server, .notFound, .forbidden, .tooMany, .store,
    ]

    static let groupCreate = Verb(
        "group_create", of: "groups", about: "Makes a group that we own. Its members are told.",
        [Self.title.field, Self.members.field], type: "group", [Field("group", .object(Shapes.group))],
        errors: Self.groupErrors,
        samples: (
            #"{"title":"Hiking","members":["WSP-AAAA-AAAA-AAAA"]}"#, #"{"type":"group","group":\#(Shapes.groupSample)}"#
        ),
        .server { opened, parameters, json in
            let (title, members) = (try parameters[Self.title], try parameters[Self.members])
            let group = try await opened.with { try await $0.groups.create(title: title, members: members, $0) }
            json.add("group", object: group) { Shapes.write($0, &$1) }
        })
}
