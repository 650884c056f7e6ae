package import Contract

/// Everything that one seed phrase gives: the keys of an identity.
package struct IdentityKeys: Sendable {
    package let pair: KeyPair
    /// Key of the encrypted contacts backup (spec §14.1).
    package let contactsKey: SecretBytes
    /// Seals what the store must not disclose to whoever has its file alone. For this device: nobody else opens it.
    let storeKey: SecretBytes
    /// All of it, for a sealed store: seed of the signing key, private key of the box, and the two keys above.
    let stored: SecretBytes
    let sharedKeys = SharedKeys()

    private static let keyBytes = 32

    package init(_ mnemonic: Mnemonic, passphrase: String = "") {
        let seed = mnemonic.seed(passphrase: passphrase)
        self.init(
            ["whisper/sign", "whisper/enc", "whisper/contacts", "whisper/store"].map {
                KeyDerivation.key(of: seed, info: $0)
            })
    }

    /// - Parameter stored: what `stored` was.
    /// - Returns: `nil` if it has another length.
    init?(stored: [UInt8]) {
        guard stored.count == 4 * Self.keyBytes else { return nil }
        self.init((0..<4).map { SecretBytes(Array(stored[($0 * Self.keyBytes)...].prefix(Self.keyBytes))) })
    }

    private init(_ keys: [SecretBytes]) {
        self.pair = KeyPair(signSeed: keys[0], boxKey: keys[1])
        self.contactsKey = keys[2]
        self.storeKey = keys[3]
        self.stored = SecretBytes(keys.flatMap(\.bytes))
    }

    package var publicKeys: PublicKeys { self.pair.publicKeys }

    /// Signs a login challenge.
    /// - Throws: `.foreignChallenge` unless it starts with `whisper-register` (contract §4).
    package func answer(challenge: [UInt8]) throws(KeyError) -> [UInt8] {
        try self.pair.answer(challenge: challenge, prefix: "whisper-register")
    }

    /// Signs the digest of the canonical bytes (spec §3.5).
    package func sign(_ message: CanonicalMessage) -> [UInt8] { self.pair.sign(message) }

    /// Signs the statement of an erasure (contract §20.2). Called when the person has confirmed, and for nothing else.
    func sign(erasure statement: [UInt8]) -> [UInt8] { self.pair.sign(digestOf: statement) }

    /// Encrypts for one reader.
    /// - Throws: `.weakKey` if the reader's key is of low order.
    package func box(_ plain: [UInt8], nonce: [UInt8], to reader: PublicKeys) throws(KeyError) -> [UInt8] {
        guard let key = self.sharedKey(with: reader), let sealed = Sodium.box(plain, nonce: nonce, sharedKey: key)
        else { throw .weakKey }
        return sealed
    }

    package func openBox(_ sealed: [UInt8], nonce: [UInt8], from writer: PublicKeys) throws(KeyError) -> [UInt8] {
        guard let key = self.sharedKey(with: writer), let plain = Sodium.openBox(sealed, nonce: nonce, sharedKey: key)
        else { throw .notForUs }
        return plain
    }

    private func sharedKey(with other: PublicKeys) -> SecretBytes? {
        self.sharedKeys.key(for: other.box) { self.pair.sharedKey(with: other) }
    }
}

package enum KeyError: Error, Equatable {
    /// A challenge that is not a login challenge. The server is hostile or broken: stop talking to it.
    case foreignChallenge
    /// A public key that would make the shared secret known to everybody.
    case weakKey
    /// The box does not open: it was made by another key, for another key, or changed on the way.
    case notForUs
}
