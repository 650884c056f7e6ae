package import Contract

/// Everything that one seed phrase gives: the keys of an identity.
package struct IdentityKeys: Sendable {
    package let publicKeys: PublicKeys
    /// Key of the encrypted contacts backup (spec §14.1).
    package let contactsKey: SecretBytes
    private let boxKey: SecretBytes
    private let signKey: SecretBytes

    package init(_ mnemonic: Mnemonic) {
        let seed = mnemonic.seed().bytes
        let boxKey = KeyDerivation.hkdfSHA256(seed, salt: "whisper", info: "whisper/enc")
        let signing = Sodium.signingKeys(seed: KeyDerivation.hkdfSHA256(seed, salt: "whisper", info: "whisper/sign"))
        self.boxKey = SecretBytes(boxKey)
        self.signKey = SecretBytes(signing.secretKey)
        self.contactsKey = SecretBytes(KeyDerivation.hkdfSHA256(seed, salt: "whisper", info: "whisper/contacts"))
        self.publicKeys = PublicKeys(
            sign: Bytes32(signing.publicKey)!, box: Bytes32(Sodium.boxPublicKey(of: boxKey))!)
    }

    /// Signs a login challenge.
    /// - Throws: `.foreignChallenge` unless it starts with `whisper-register`. Message signatures are made with the same
    ///   key over 32 bytes too: without the prefix a hostile server could have us sign a message (contract §4).
    package func answer(challenge: [UInt8]) throws(KeyError) -> [UInt8] {
        guard challenge.count == Limits.challengeBytes, challenge.starts(with: Self.challengePrefix) else {
            throw .foreignChallenge
        }
        return Sodium.sign(challenge, secretKey: self.signKey.bytes)
    }

    /// Signs the digest of the canonical bytes (spec §3.5).
    package func sign(_ message: CanonicalMessage) -> [UInt8] {
        Sodium.sign(Sodium.sha256(message.bytes), secretKey: self.signKey.bytes)
    }

    /// Encrypts for one reader.
    /// - Throws: `.weakKey` if the reader's key is of low order.
    package func box(_ plain: [UInt8], nonce: [UInt8], to reader: PublicKeys) throws(KeyError) -> [UInt8] {
        guard let sealed = Sodium.box(plain, nonce: nonce, to: reader.box.bytes, from: self.boxKey.bytes) else {
            throw .weakKey
        }
        return sealed
    }

    package func openBox(_ sealed: [UInt8], nonce: [UInt8], from writer: PublicKeys) throws(KeyError) -> [UInt8] {
        guard let plain = Sodium.openBox(sealed, nonce: nonce, from: writer.box.bytes, to: self.boxKey.bytes) else {
            throw .notForUs
        }
        return plain
    }

    private static let challengePrefix = Array("whisper-register".utf8)
}

package enum KeyError: Error, Equatable {
    /// A challenge that is not a login challenge. The server is hostile or broken: stop talking to it.
    case foreignChallenge
    /// A public key that would make the shared secret known to everybody.
    case weakKey
    /// The box does not open: it was made by another key, for another key, or changed on the way.
    case notForUs
}
