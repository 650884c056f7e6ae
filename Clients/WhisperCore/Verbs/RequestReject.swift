import Contract
import WhisperClient

extension Verb {
    private static let whisperID = TypedField.whisperID("whisperId")

    static let requestReject = Verb(
        "request_reject", of: "requests",
        about:
            "Forgets a stranger who wrote first, with all messages. More mail would be another request: block whoever goes on.",
        [Self.whisperID.field], type: "rejected",
        errors: [.noIdentity, .notFound, .store],
        samples: (
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA"}"#,
            #"{"type":"rejected"}"#
        ),
        .client { opened, parameters, _ in
            let isGone = try await opened.with { try $0.contacts.rejectRequest(of: try parameters[Self.whisperID], $0) }
            guard isGone else { throw CoreError(.notFound, field: "whisperId") }
        })
}
