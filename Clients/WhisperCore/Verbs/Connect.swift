import Contract

extension Verb {
    static let connect = Verb(
        "connect", of: "session",
        about: "Connects, and stays connected until `disconnect`. How it goes comes as events `connection`.",
        [InvitationParameter.value.field], type: "connecting", errors: [.noIdentity, .store],
        samples: ("{}", #"{"type":"connecting"}"#),
        .core { core, parameters, _ in
            try await core.connect(invitation: try parameters[InvitationParameter.value])
        })
}
