import Contract

extension Verb {
    static let disconnect = Verb(
        "disconnect", of: "session", about: "Ends the connection. What is queued stays queued.", type: "disconnected",
        errors: [.noIdentity], samples: ("{}", #"{"type":"disconnected"}"#),
        .client { opened, _, _ in await opened.disconnect() })
}
