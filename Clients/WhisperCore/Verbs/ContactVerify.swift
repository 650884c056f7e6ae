import Contract
import WhisperClient

extension Verb {
    private static let whisperID = TypedField.whisperID("whisperId")
    private static let isVerified = TypedField.bool("isVerified")
    private static let number = TypedField.text(
        "number", 1...200, about: "As the other person sees it. If it is another than here, nothing is noted."
    ).optional

    static let contactVerify = Verb(
        "contact_verify", of: "contacts",
        about: "Notes that the safety number was compared, or that it is not trusted. It stays on this device.",
        [Self.whisperID.field, Self.isVerified.field, Self.number.field], type: "contact",
        [Field("contact", .object(Shapes.contact))], errors: [.noIdentity, .unknownContact, .changedKeys, .store],
        samples: (
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA","isVerified":true}"#,
            #"{"type":"contact","contact":{"whisperId":"WSP-AAAA-AAAA-AAAA","name":"Ann","isStranger":false,"isPinned":true,"isMuted":false,"isBlocked":false,"isBanned":false,"isVerified":true,"addedAt":1767225600000,"signPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","encPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}"#
        ),
        .client { opened, parameters, json in
            let id = try parameters[Self.whisperID]
            if let number = try parameters[Self.number] {
                guard let contact = try opened.store.contacts.contact(id) else { throw CoreError(.unknownContact) }
                let digits = { (text: String) in text.filter { !$0.isWhitespace } }
                guard digits(number) == digits(SafetyNumber.text(opened.profile.keys.publicKeys, contact.keys)) else {
                    throw CoreError(.changedKeys, "The numbers differ.", field: "number")
                }
            }
            let verification: Verification? = try parameters[Self.isVerified] ? .compared : nil
            try (try await opened.with { try $0.contacts.set(verification, id, $0) }).write(&json)
        })
}
