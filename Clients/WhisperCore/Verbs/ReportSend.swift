import Contract
import WhisperClient

extension Verb {
    private static let whisperID = TypedField.whisperID("whisperId", about: "The person who misbehaves.")
    private static let reason = TypedField.word("reason", of: Report.Reason.allCases.map(\.rawValue))
    private static let note = TypedField.text(
        "note", Limits.reportNoteCharacters, about: "The operators read it. It is not sealed for anybody."
    ).optional
    private static let messageID = TypedField.uuid(
        "messageId",
        about: """
            A message of theirs as evidence, of their latest \(ClientLimits.evidencePerSenderMax). The operators see whose it is and when \
            it was sent. They cannot read it.
            """
    ).optional

    static let reportSend = Verb(
        "report_send", of: "contacts",
        about: "Reports somebody to the operators of the server.",
        [Self.whisperID.field, Self.reason.field, Self.note.field, Self.messageID.field], type: "reported",
        [Field("reportId", .uuid)],
        errors: [.noIdentity, .offline, .unreachable, .notFound, .tooMany, .server, .store],
        samples: (
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA","reason":"spam"}"#,
            #"{"type":"reported","reportId":"7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21"}"#
        ),
        .server { opened, parameters, json in
            // The schema has taken no other word.
            let reason = Report.Reason(rawValue: try parameters[Self.reason]) ?? .other
            let target = try parameters[Self.whisperID]
            var evidence: Evidence?
            if let id = try parameters[Self.messageID] {
                guard let own = await opened.client.id,
                    let found = try opened.store.evidence(of: id, from: target, to: own)
                else { throw CoreError(.notFound, "Nothing is kept of this message.", field: "messageId") }
                evidence = found
            }
            let id = try await opened.with { [evidence] in
                try await $0.account.report(target, reason, note: try parameters[Self.note], evidence: evidence, $0)
            }
            json.add("reportId", id)
        })
}
