import Contract
import WhisperClient

extension Verb {
    private static let tag = TypedField.text("tag", 1...64, about: "As the push has it.")
    private static let wakeId = TypedField.uuid("wakeId", about: "As the push has it.")

    static let pushMatch = Verb(
        "push_match", of: "session",
        about:
            "Says whether a push is for this account. A host with several accounts asks each. A push without a `tag`, or with one that nobody knows, may be for any of them.",
        [Self.tag.field, Self.wakeId.field], type: "pushMatched", [Field("isMine", .bool)],
        errors: [.noIdentity, .store],
        samples: (
            #"{"tag":"ov1gMzhV5YQ","wakeId":"0f8fad5b-d9cb-469f-a165-70867728950e"}"#,
            #"{"type":"pushMatched","isMine":false}"#
        ),
        .read { opened, parameters, json in
            json.add("isMine", try opened.store.isOurs(try parameters[Self.tag], of: try parameters[Self.wakeId]))
        })
}
