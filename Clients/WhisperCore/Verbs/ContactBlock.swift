import Contract
import WhisperClient

extension Verb {
    private static let whisperID = TypedField.whisperID("whisperId")

    static let contactBlock = Verb(
        "contact_block", of: "contacts",
        about:
            "Blocks a contact or a stranger: their mail is acknowledged and dropped, and what waits for them is given up.",
        [Self.whisperID.field], type: "contact", [Field("contact", .object(Shapes.contact))],
        errors: [.noIdentity, .unknownContact, .store],
        samples: (
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA"}"#,
            #"{"type":"contact","contact":{"whisperId":"WSP-AAAA-AAAA-AAAA","name":"Ann","isStranger":false,"isPinned":true,"isMuted":false,"isBlocked":true,"isBanned":false,"addedAt":1767225600000,"signPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","encPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}"#
        ),
        .client { opened, parameters, json in
            let id = try parameters[Self.whisperID]
            let change = try await opened.with {
                $0.calls.endAll(with: id, $0)
                return try $0.contacts.set(isBlocked: true, id, $0)
            }
            try change.write(&json)
        })
}
