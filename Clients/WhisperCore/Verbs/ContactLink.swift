import Contract
import WhisperClient

extension Verb {
    private static let whisperID = TypedField.whisperID("whisperId", about: "A contact. Default: ourselves.").optional
    private static let name = TypedField.text(
        "name", 1...ContactLink.nameScalarsMax,
        about: "What the link calls the person. Without it the link says no name: names given here stay here."
    ).optional
    private static let form = TypedField<ContactLink.Form>.choice(
        "form",
        about:
            "`app`: `whisper://add/…`, which Whisper opens. `web`: `https://…/add#…`, which a browser opens. Default: `app`."
    ).optional

    static let contactLink = Self.contactLink(
        "contact_link",
        about:
            "Gives the link by which others add ourselves, or a contact. It vouches for the keys. The host may draw it as a QR code."
    )

    /// The name of the first releases.
    static let contactQR = Self.contactLink("contact_qr", about: "Another name of `contact_link`.")

    private static func contactLink(_ verb: String, about: String) -> Verb {
        Verb(
            verb, of: "contacts", about: about, [Self.whisperID.field, Self.name.field, Self.form.field], type: "link",
            [Field("text", .text(1...ContactLink.charactersMax), about: "ASCII.")],
            errors: [.noIdentity, .offline, .unknownContact, .store],
            samples: (
                #"{"name":"Ann"}"#,
                #"{"type":"link","text":"whisper://add/WSP-AAAA-AAAA-AAAA?v=1&o=chat.example&f=AAAAAAAAAAAAAAAAAAAAAA&n=Ann"}"#
            ),
            .read { opened, parameters, json in
                let name = try parameters[Self.name]
                var link = try opened.ownLink(named: name)
                if let wanted = try parameters[Self.whisperID] {
                    guard let contact = try opened.store.contacts.contact(wanted) else {
                        throw CoreError(.unknownContact)
                    }
                    link = ContactLink(id: contact.id, keys: contact.keys, server: opened.serverAddress, name: name)
                }
                guard let link else { throw CoreError(.offline) }
                json.add("text", link.text(try parameters[Self.form] ?? .app))
            })
    }
}

extension OpenCore {
    /// The link that adds ourselves. `nil` before the first login, at which the server gives the id.
    func ownLink(named name: String?) throws(ClientStoreError) -> ContactLink? {
        try self.store.settings.whisperID().map {
            ContactLink(id: $0, keys: self.profile.keys.publicKeys, server: self.serverAddress, name: name)
        }
    }
}
