package import Contract

/// The keys of a guest: a person who listens without an identity (contract §14.3). The same keys are the same guest.
package struct GuestKeys: Sendable {
    package let id: GuestID
    package let pair: KeyPair

    /// - Parameter secret: 64 random bytes: the Ed25519 seed and the X25519 private key.
    package init(secret: SecretBytes) {
        let bytes = secret.bytes
        precondition(bytes.count == 2 * LiveLimits.secretBytes)
        self.pair = KeyPair(
            signSeed: SecretBytes(Array(bytes.prefix(LiveLimits.secretBytes))),
            boxKey: SecretBytes(Array(bytes.suffix(LiveLimits.secretBytes))))
        self.id = self.pair.publicKeys.guestID
    }

    /// Signs the challenge of `guest_challenge`.
    /// - Throws: `.foreignChallenge` unless it starts with `whisper-guest-v1`.
    package func answer(challenge: [UInt8]) throws(KeyError) -> [UInt8] {
        try self.pair.answer(challenge: challenge, prefix: "whisper-guest-v1")
    }
}
