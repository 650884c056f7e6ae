import Contract
import WhisperClient

extension Verb {
    private static let whisperID = TypedField.whisperID("whisperId")
    private static let name = TypedField.text("name", 0...200, about: "No Whisper ID. Empty: none any more.").optional
    private static let notes = TypedField.text(
        "notes", 0...ClientLimits.notesBytesMax,
        about: "At most \(ClientLimits.notesBytesMax) bytes of UTF-8. Empty: none any more."
    ).optional
    private static let pinned = TypedField.bool("pinned").optional
    private static let muted = TypedField.bool("muted").optional

    static let contactUpdate = Verb(
        "contact_update", of: "contacts",
        about: "Changes what is kept of a contact: what is given, and nothing else. It goes into the backup.",
        [Self.whisperID.field, Self.name.field, Self.notes.field, Self.pinned.field, Self.muted.field],
        type: "contact", [Field("contact", .object(Shapes.contact))],
        errors: [.noIdentity, .unknownContact, .nameTaken, .tooLong, .store],
        samples: (
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA","pinned":true}"#,
            #"{"type":"contact","contact":{"whisperId":"WSP-AAAA-AAAA-AAAA","name":"Ann","isStranger":false,"isPinned":true,"isMuted":false,"isBlocked":false,"isBanned":false,"addedAt":1767225600000,"signPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=","encPublicKey":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="}}"#
        ),
        .client { opened, parameters, json in
            let (name, notes) = (try parameters[Self.name], try parameters[Self.notes])
            if let name, WhisperID(name.uppercased()) != nil {
                throw CoreError(.invalidField, "must not be a Whisper ID", field: "name")
            }
            guard notes?.utf8.count ?? 0 <= ClientLimits.notesBytesMax else {
                throw CoreError(.tooLong, "has too many bytes", field: "notes")
            }
            let update = ContactUpdate(
                name: name, notes: notes, isPinned: try parameters[Self.pinned], isMuted: try parameters[Self.muted])
            let id = try parameters[Self.whisperID]
            try (try await opened.with { try $0.contacts.update(id, update, $0) }).write(&json)
        })
}

extension ContactChange {
    /// - Parameter unknown: what it means that there is nobody.
    func write(_ json: inout JSONWriter, unknown: CoreError.Code = .unknownContact) throws {
        switch self {
        case .changed(let contact), .same(let contact):
            json.add("contact", object: contact) { Shapes.write($0, &$1) }
        case .unknown: throw CoreError(unknown)
        case .nameTaken: throw CoreError(.nameTaken, field: "name")
        }
    }
}
