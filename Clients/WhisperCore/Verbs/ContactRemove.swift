import Contract
import WhisperClient

extension Verb {
    private static let whisperID = TypedField.whisperID("whisperId")

    static let contactRemove = Verb(
        "contact_remove", of: "contacts",
        about:
            "Removes a contact here and from the backup. Messages that wait for them are given up; others stay. If they write again, they are strangers.",
        [Self.whisperID.field], type: "removed",
        errors: [.noIdentity, .unknownContact, .store],
        samples: (
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA"}"#,
            #"{"type":"removed"}"#
        ),
        .client { opened, parameters, _ in
            let isGone = try await opened.with { try $0.contacts.remove(try parameters[Self.whisperID], $0) }
            guard isGone else { throw CoreError(.unknownContact) }
        })
}
