import Contract
import WhisperClient

extension Verb {
    static let identityCreate = Verb(
        "identity_create", of: "identity",
        about:
            "Makes a new identity, and gives its twelve words: whoever has them is this person. Without a key of the store they stay in the folder, in a file that only its owner may read.",
        type: "identityCreated",
        [Field("words", .text(1...200), about: "Twelve words. Show them, let them be written down, and keep no copy.")],
        errors: [.identityExists, .locked, .store],
        samples: (
            "{}",
            #"{"type":"identityCreated","words":"legal winner thank year wave sausage worth useful legal winner thank yellow"}"#
        ),
        .core { core, _, json in
            let mnemonic = Mnemonic.random()
            try await core.make(mnemonic)
            json.add("words", mnemonic.phrase)
        })
}
