package import Contract

/// Keys of one's own: an Ed25519 pair to sign with, and an X25519 pair that others encrypt for.
package struct KeyPair: Sendable {
    package let publicKeys: PublicKeys
    private let signKey: SecretBytes
    private let boxKey: SecretBytes

    /// - Parameters:
    ///   - signSeed: 32 bytes, the Ed25519 seed.
    ///   - boxKey: 32 bytes, the X25519 private key.
    package init(signSeed: SecretBytes, boxKey: SecretBytes) {
        let signing = Sodium.signingKeys(seed: signSeed.bytes)
        self.signKey = SecretBytes(signing.secretKey)
        self.boxKey = boxKey
        self.publicKeys = PublicKeys(
            sign: Bytes32(signing.publicKey)!, box: Bytes32(Sodium.boxPublicKey(of: boxKey.bytes))!)
    }

    /// Signs the digest of the canonical bytes (spec §3.5).
    package func sign(_ message: CanonicalMessage) -> [UInt8] { self.sign(digestOf: message.bytes) }

    package func sign(digestOf bytes: [UInt8]) -> [UInt8] {
        Sodium.sign(Sodium.sha256(bytes), secretKey: self.signKey.bytes)
    }

    /// Signs a challenge as it is.
    /// - Throws: `.foreignChallenge` unless it begins with `prefix`. Message signatures are made with the same key over 32
    ///   bytes too: without the prefix a hostile server could have us sign a message (contract §4, §14.3).
    package func answer(challenge: [UInt8], prefix: String) throws(KeyError) -> [UInt8] {
        guard challenge.count == Limits.challengeBytes, challenge.starts(with: prefix.utf8) else {
            throw .foreignChallenge
        }
        return Sodium.sign(challenge, secretKey: self.signKey.bytes)
    }

    /// The key of NaCl's `box` that two people share.
    /// - Returns: `nil` if the other's key is of low order.
    func sharedKey(with other: PublicKeys) -> SecretBytes? {
        Sodium.sharedKey(other.box.bytes, self.boxKey.bytes)
    }

    /// Opens a BOX (contract §14.5).
    /// - Parameters:
    ///   - salt: a secret that both have besides.
    ///   - data: what its seal vouches for (`LiveSeals.box`).
    package func open(
        _ box: SealedBox, salt: SecretBytes? = nil, vouchingFor data: [UInt8]
    ) throws(KeyError) -> [UInt8] {
        guard
            let plain = box.open(
                privateKey: self.boxKey, publicKey: self.publicKeys.box, salt: salt, vouchingFor: data)
        else { throw .notForUs }
        return plain
    }
}
