import WhisperClient

extension Verb {
    static let outboxResume = Verb(
        "outbox_resume", of: "messages",
        about: "Sends what was kept apart because of a ban, as soon as the server lets us in.", type: "resumed",
        errors: [.noIdentity, .store], samples: ("{}", #"{"type":"resumed"}"#),
        .client { opened, _, _ in try await opened.with { try $0.outbox.resume($0) } })
}
