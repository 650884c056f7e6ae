import Contract
import WhisperClient

extension Verb {
    private static let whisperID = TypedField.whisperID("whisperId")

    static let contactUnblock = Verb(
        "contact_unblock", of: "contacts",
        about:
            "Takes mail of a contact again. Dropped mail does not come back.",
        [Self.whisperID.field], type: "contact", [Field("contact", .object(Shapes.contact))],
        errors: [.noIdentity, .unknownContact, .store],
        samples: (
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA"}"#,
            #"{"type":"contact","contact":{"whisperId":"WSP-AAAA-AAAA-AAAA","name":"Ann","isStranger":false,"isPinned":true,"isMuted":false,"isBlocked":false,"isBanned":false,"addedAt":1767225600000,"signPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","encPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}"#
        ),
        .client { opened, parameters, json in
            let id = try parameters[Self.whisperID]
            try (try await opened.with { try $0.contacts.set(isBlocked: false, id, $0) }).write(&json)
        })
}
