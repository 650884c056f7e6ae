import Contract
import WhisperClient

extension Verb {
    private static let whisperID = TypedField.whisperID("whisperId").optional
    private static let link = TypedField.text(
        "link", 1...ContactLink.charactersMax, about: "As `contact_link` gave it to the other person."
    ).optional
    private static let source = TypedField<ContactSource>.choice(
        "source",
        about:
            "How the link came here. `scan`: read off the other person's screen; the contact is verified then. Default: `link`."
    ).optional
    private static let name = TypedField.text(
        "name", 1...200, about: "As this person is to be called here. No Whisper ID."
    ).optional

    static let contactAdd = Verb(
        "contact_add", of: "contacts",
        about:
            "Adds the person of exactly one of `whisperId` and `link`. The keys that the server gives out are pinned if they belong to the id, and are those for which the link vouches. For a person who is connected nearby it pins the proven keys, and asks nobody; so it does with the keys that stand in a link. A known contact gets the new name. A link of another server is `otherServer`, and the name that it suggests is not taken: `link_read` shows it.",
        [Self.whisperID.field, Self.link.field, Self.source.field, Self.name.field], type: "contact",
        [Field("contact", .object(Shapes.contact))],
        errors: [
            .noIdentity, .toSelf, .notFound, .offline, .unreachable, .server, .foreignKeys, .changedKeys, .nameTaken,
            .otherServer, .newerLink,
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
            let contact: Contact
            switch (try parameters[Self.whisperID], try parameters[Self.link]) {
            case (let id?, nil): contact = try await opened.with { try await $0.contacts.add(id, name: name, $0) }
            case (nil, let text?):
                let (link, isScan) = (try opened.contactLink(text), try parameters[Self.source] == .scan)
                contact = try await opened.with { try await $0.contacts.add(link, name: name, isScanned: isScan, $0) }
            default: throw CoreError(.invalidField, "Give one of whisperId and link.", field: "whisperId")
            }
            json.add("contact", object: contact) { Shapes.write($0, &$1) }
        })
}

/// How a link came to this device.
enum ContactSource: String, CaseIterable, Sendable { case link, scan }

extension OpenCore {
    /// - Throws: `.invalidField`, `.newerLink`; `.otherServer` if the link names another server than ours.
    func contactLink(_ text: String) throws(CoreError) -> ContactLink {
        let link: ContactLink
        do { link = try ContactLink(text) } catch { throw CoreError(of: error) }
        if let server = link.server, !server.isSamePlace(as: self.serverAddress) {
            throw CoreError(.otherServer, field: "link")
        }
        return link
    }
}
