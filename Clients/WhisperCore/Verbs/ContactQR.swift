import Contract
import WhisperClient

extension Verb {
    private static let whisperID = TypedField.whisperID("whisperId", about: "A contact. Default: ourselves.").optional

    static let contactQR = Verb(
        "contact_qr", of: "contacts",
        about: "Gives the text of a QR code: id and keys of ourselves, or of a contact. The host draws it.",
        [Self.whisperID.field], type: "qr",
        [Field("text", .text(1...200), about: "`whisper:ID?s=…&e=…`, both keys in base64url without padding.")],
        errors: [.noIdentity, .offline, .unknownContact, .store],
        samples: (
            "{}",
            #"{"type":"qr","text":"whisper:WSP-AAAA-AAAA-AAAA?s=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA&e=AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA"}"#
        ),
        .read { opened, parameters, json in
            let (id, keys): (WhisperID, PublicKeys)
            if let wanted = try parameters[Self.whisperID] {
                guard let contact = try opened.store.contacts.contact(wanted) else { throw CoreError(.unknownContact) }
                (id, keys) = (contact.id, contact.keys)
            } else {
                // The server gives the id at the first login.
                guard let ownID = try opened.store.settings.whisperID() else { throw CoreError(.offline) }
                (id, keys) = (ownID, opened.profile.keys.publicKeys)
            }
            json.add(
                "text",
                "whisper:\(id)?s=\(Base64URL.encode(keys.sign.bytes))&e=\(Base64URL.encode(keys.box.bytes))")
        })
}
