import Contract

extension Verb {
    static let connect = Verb(
        "connect", of: "session",
        about: "Connects, and stays connected until `disconnect`. How it goes comes as events `connection`.",
        type: "connecting", errors: [.noIdentity, .store],
        samples: ("{}", #"{"type":"connecting"}"#),
        .client { opened, _, _ in try await opened.connect() })
}
