import Contract
import WhisperClient

extension Verb {
    private static let after = TypedField.whisperID("after", about: "The last id of the page before.").optional
    private static let limit = TypedField.integer("limit", 1...Int64(CoreLimits.listMax), about: "Default 50.").optional

    static let presenceList = Verb(
        "presence_list", of: "presence",
        about:
            "Lists contacts of whom the server has said whether they are there, by their ids. It says so of people who have written to us and we to them.",
        [Self.after.field, Self.limit.field], type: "presences",
        [
            Field(
                "presences", .array(of: .object(ObjectSchema(Shapes.presenceFields)), count: 0...CoreLimits.listMax))
        ], errors: [.noIdentity],
        samples: (
            "{}", #"{"type":"presences","presences":[{"whisperId":"WSP-AAAA-AAAA-AAAA","status":"online"}]}"#
        ),
        .client { opened, parameters, json in
            let (after, limit) = (try parameters[Self.after], Int(try parameters[Self.limit] ?? 50))
            let presences = await opened.with { $0.presence.known(after: after, limit: limit) }
            json.add("presences", objects: presences) { Shapes.write($0, &$1) }
        })
}
