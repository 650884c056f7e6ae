import Contract
import WhisperClient

extension Verb {
    private static let pushToken = Field(
        "pushToken", .text(Limits.pushTokenCharacters), .clearable,
        about: "Absent keeps the one before, `null` clears it."
    )
    private static let voipToken = Field(
        "voipToken", .text(Limits.pushTokenCharacters), .clearable, about: "For calls, on iOS. The same."
    )

    private static let tokens = ObjectSchema([Self.pushToken, Self.voipToken])

    static let pushSet = Verb(
        "push_set", of: "session",
        about:
            "Gives the server the tokens by which it wakes this device: now, or with the next connection, and again after each login. A push carries a `wakeId` and no content: whoever is woken connects. Its `tag` says to `push_match` whose it is.",
        Self.tokens.fields, type: "pushSet",
        errors: [.noIdentity, .store],
        samples: (#"{"pushToken":"made-up","voipToken":null}"#, #"{"type":"pushSet"}"#),
        .client { opened, parameters, _ in
            func change(_ name: String) -> UpdateTokens.Change<String> {
                let field = Self.tokens.place(name)
                if parameters.isNull(field) { return .clear }
                return parameters.has(field) ? .set(parameters.text(field)) : .keep
            }
            let (push, voip) = (change("pushToken"), change("voipToken"))
            try await opened.with { try $0.account.set(push: push, voip: voip) }
        })
}
