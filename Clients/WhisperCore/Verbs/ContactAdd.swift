import Contract
import WhisperClient

extension Verb {
    private static let whisperID = TypedField.whisperID("whisperId")
    private static let name = TypedField.text(
        "name", 1...200, about: "As this person is to be called here. No Whisper ID."
    ).optional

    static let contactAdd = Verb(
        "contact_add", of: "contacts",
        about:
            "Asks for somebody's keys, checks that they belong to the id, and pins them. For a person who is connected nearby it pins the proven keys, and asks nobody. A known contact gets the new name.",
        [Self.whisperID.field, Self.name.field], type: "contact", [Field("contact", .object(Shapes.contact))],
        errors: [
            .noIdentity, .toSelf, .notFound, .offline, .unreachable, .server, .foreignKeys, .changedKeys, .nameTaken,
        ],
        samples: (
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA","name":"Ann"}"#,
            #"{"type":"contact","contact":{"whisperId":"WSP-AAAA-AAAA-AAAA","name":"Ann","isStranger":false,"isPinned":false,"isMuted":false,"isBlocked":false,"isBanned":false,"addedAt":1767225600000,"signPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","encPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}"#
        ),
        .server { opened, parameters, json in
            let name = try parameters[Self.name]
            if let name, WhisperID(name.uppercased()) != nil {
                throw CoreError(.invalidField, "must not be a Whisper ID", field: "name")
            }
            let contact = try await opened.client.addContact(try parameters[Self.whisperID], name: name)
            json.add("contact", object: contact) { Shapes.write($0, &$1) }
        })
}
