import Contract
import WhisperClient

extension Verb {
    private static let groupID = TypedField.groupID("groupId")

    static let groupLeave = Verb(
        "group_leave", of: "groups",
        about:
            "Leaves a group. If we own it, the oldest admin takes over, else the oldest member. Its messages stay here.",
        [Self.groupID.field], type: "group", [Field("group", .object(Shapes.group))],
        errors: Self.groupErrors + [.notMember],
        samples: (
            #"{"groupId":"grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61"}"#,
            #"{"type":"group","group":{"groupId":"grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61","title":"Hiking","isMember":false,"members":1,"revision":2,"createdAt":1767225600000,"updatedAt":1767225600001}}"#
        ),
        .server { opened, parameters, json in
            let id = try opened.group(try parameters[Self.groupID]).id
            let group = try await opened.with { try await $0.groups.leave(id, $0) }
            json.add("group", object: group) { Shapes.write($0, &$1) }
        })
}
