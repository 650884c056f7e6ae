import Contract
import WhisperClient

extension Verb {
    private static let whisperID = TypedField.whisperID("whisperId")

    static let requestAccept = Verb(
        "request_accept", of: "requests",
        about:
            "Makes a stranger who wrote first a contact. An answer does so too.",
        [Self.whisperID.field], type: "contact", [Field("contact", .object(Shapes.contact))],
        errors: [.noIdentity, .notFound, .store],
        samples: (
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA"}"#,
            #"{"type":"contact","contact":{"whisperId":"WSP-AAAA-AAAA-AAAA","name":"Ann","isStranger":false,"isPinned":true,"isMuted":false,"isBlocked":false,"isBanned":false,"addedAt":1767225600000,"signPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","encPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}"#
        ),
        .client { opened, parameters, json in
            try (try await opened.with { try $0.contacts.acceptRequest(of: try parameters[Self.whisperID], $0) }).write(
                &json, unknown: .notFound)
        })
}
