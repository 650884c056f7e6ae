import Contract
import WhisperClient

extension Verb {
    private static let whisperID = TypedField.whisperID("whisperId", about: "Who misbehaves.")
    private static let reason = TypedField.word("reason", of: Report.Reason.allCases.map(\.rawValue))
    private static let note = TypedField.text(
        "note", Limits.reportNoteCharacters, about: "The operators read it. It is not sealed for anybody."
    ).optional

    static let reportSend = Verb(
        "report_send", of: "contacts",
        about: "Reports somebody to the operators of the server. No message is given to them.",
        [Self.whisperID.field, Self.reason.field, Self.note.field], type: "reported", [Field("reportId", .uuid)],
        errors: [.noIdentity, .offline, .unreachable, .notFound, .tooMany, .server, .store],
        samples: (
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA","reason":"spam"}"#,
            #"{"type":"reported","reportId":"7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21"}"#
        ),
        .server { opened, parameters, json in
            // The schema has taken no other word.
            let reason = Report.Reason(rawValue: try parameters[Self.reason]) ?? .other
            json.add(
                "reportId",
                try await opened.client.report(
                    try parameters[Self.whisperID], reason, note: try parameters[Self.note]))
        })
}
