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
            let id = try parameters[Self.whisperID]
            let isGone = try await opened.with {
                $0.calls.endAll(with: id, $0)
                return try $0.contacts.remove(id, $0)
            }
            guard isGone else { throw CoreError(.unknownContact) }
        })
}
