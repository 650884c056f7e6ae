import Contract
import WhisperClient

extension Verb {
    private static let words = TypedField.text(
        "words", 1...1_000, about: "The twelve words, in either case, with any white space between them.")

    static let identityRestore = Verb(
        "identity_restore", of: "identity",
        about: "Brings an identity back by its words. Contacts come with the first connection, messages do not.",
        [Self.words.field, PassphraseParameter.value.field], type: "identityRestored",
        errors: [.config, .words, .identityExists, .locked, .store],
        samples: (
            #"{"words":"legal winner thank year wave sausage worth useful legal winner thank yellow"}"#,
            #"{"type":"identityRestored"}"#
        ),
        .core { core, parameters, _ in
            let words = try parameters[Self.words]
            let mnemonic: Mnemonic
            do throws(MnemonicError) {
                mnemonic = try Mnemonic(phrase: words)
            } catch {
                // The words themselves are repeated nowhere.
                let why =
                    switch error {
                    case .wordCount(let count): "must be twelve words, not \(count)"
                    case .unknownWord: "has a word that is not one of the list"
                    case .checksum: "are good words, but not together: one is wrong, or two are swapped"
                    }
                throw CoreError(.words, why, field: "words")
            }
            try await core.make(mnemonic, passphrase: try parameters[PassphraseParameter.value])
        })
}
