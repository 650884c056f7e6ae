import Contract

extension Verb {
    static let disconnect = Verb(
        "disconnect", of: "session", about: "Ends the connection. Queued messages stay queued.", type: "disconnected",
        errors: [.noIdentity], samples: ("{}", #"{"type":"disconnected"}"#),
        .client { opened, _, _ in await opened.disconnect() })
}
