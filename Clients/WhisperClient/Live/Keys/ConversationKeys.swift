package import Contract

/// All keys of a conversation, from its one secret (contract §14.5). Every device of the profile can derive them; the
/// server sees the public keys.
package struct ConversationKeys: Sendable {
    package let id: ConversationID
    /// Signs the conversation's statements, and opens the boxes that listeners seal for it.
    package let pair: KeyPair
    let secret: SecretBytes

    /// - Parameter secret: 32 random bytes, from the profile's sealed document.
    package init(secret: SecretBytes) {
        precondition(secret.bytes.count == LiveLimits.secretBytes)
        self.secret = secret
        self.pair = KeyPair(
            signSeed: KeyDerivation.key(of: secret, info: LiveKeyNames.sign),
            boxKey: KeyDerivation.key(of: secret, info: LiveKeyNames.enc))
        self.id = self.pair.publicKeys.conversationID
    }

    package var publicKeys: PublicKeys { self.pair.publicKeys }

    package func contentKey(generation: Int) -> ContentKey {
        ContentKey(
            generation: generation, key: KeyDerivation.key(of: self.secret, info: LiveKeyNames.content(generation)))
    }

    /// Signs a completed line (contract §14.9).
    package func sign(line number: Int, text: String, content: UUIDText) -> [UInt8] {
        let digest = Sodium.sha256(Array(text.utf8))
        return self.pair.sign(digestOf: LiveStatement.line(number, textDigest: digest, of: self.id, content: content))
    }
}

extension PublicKeys {
    /// Whether these keys of the conversation signed the line.
    package func signed(
        line number: Int, text: String, of conversation: ConversationID, content: UUIDText, signature: [UInt8]
    ) -> Bool {
        let statement = LiveStatement.line(
            number, textDigest: Sodium.sha256(Array(text.utf8)), of: conversation, content: content)
        return Sodium.verify(signature, of: Sodium.sha256(statement), publicKey: self.sign.bytes)
    }
}
