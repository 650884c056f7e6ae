import Contract
import WhisperClient

/// A parameter of the verbs that may be the first login of an identity.
enum InvitationParameter {
    static let value = TypedField.text(
        "invitation", 1...1_000, about: "A link or its token, for a server that takes somebody new by invitation only."
    ).optional
}

/// A parameter of the verbs that make an identity of words.
enum PassphraseParameter {
    static let value = TypedField.text(
        "passphrase", Mnemonic.passphraseBytes,
        about:
            "Printable ASCII beside the words, only in a sealed store. Another one is no error: it is another identity. Keep no copy."
    ).optional
}

extension Verb {
    static let identityCreate = Verb(
        "identity_create", of: "identity",
        about:
            "Makes a new identity, and gives its twelve words: whoever has them is this person. Without a key of the store they stay in the folder, in a file that only its owner may read.",
        [PassphraseParameter.value.field, InvitationParameter.value.field], type: "identityCreated",
        [Field("words", .text(1...200), about: "Twelve words. Show them, let them be written down, and keep no copy.")],
        errors: [.config, .identityExists, .locked, .store],
        samples: (
            "{}",
            #"{"type":"identityCreated","words":"legal winner thank year wave sausage worth useful legal winner thank yellow"}"#
        ),
        .core { core, parameters, json in
            let mnemonic = Mnemonic.random()
            try await core.make(
                mnemonic, passphrase: try parameters[PassphraseParameter.value],
                invitation: try parameters[InvitationParameter.value])
            json.add("words", mnemonic.phrase)
        })
}
