import Contract
import WhisperClient

extension Verb {
    private static let after = TypedField.groupID("after", about: "The last group of the page before.").optional

    static let groupList = Verb(
        "group_list", of: "groups",
        about:
            "Lists groups that are known here by their titles, \(CoreLimits.listMax) at a time: also those we have left.",
        [Self.after.field], type: "groups",
        [
            Field("groups", .array(of: .object(Shapes.group), count: 0...CoreLimits.listMax)), Field("hasMore", .bool),
        ], errors: [.noIdentity, .notFound, .store],
        samples: ("{}", #"{"type":"groups","groups":[\#(Shapes.groupSample)],"hasMore":false}"#),
        .read { opened, parameters, json in
            var groups = try opened.store.groups.groups()[...]
            if let after = try parameters[Self.after] {
                let id = try opened.group(after).id
                guard let place = groups.firstIndex(where: { $0.id == id }) else {
                    throw CoreError(.notFound, field: "after")
                }
                groups = groups[(place + 1)...]
            }
            json.add("groups", objects: groups.prefix(CoreLimits.listMax)) { Shapes.write($0, &$1) }
            json.add("hasMore", groups.count > CoreLimits.listMax)
        })
}
