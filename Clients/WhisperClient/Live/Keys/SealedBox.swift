package import Contract

/// Bytes from any sender for the owner of one X25519 key: BOX of contract §14.5.
///
/// The box does not show its sender. A signature or a tag beside it proves the sender where that matters.
package struct SealedBox: Hashable, Sendable {
    /// The ciphertext begins with the sender's public key, which was made for this box alone.
    package let sealed: SealedBytes

    /// A box as received.
    package init(_ sealed: SealedBytes) { self.sealed = sealed }

    /// - Parameters:
    ///   - reader: the reader's X25519 public key.
    ///   - ephemeral: 32 fresh random bytes, the private key of this box.
    ///   - nonce: 12 fresh random bytes.
    ///   - salt: another secret that both sides share.
    ///   - data: authenticated with the content (`LiveSeals.box`).
    /// - Throws: `.weakKey` if the reader's key is of low order.
    package init(
        _ plain: [UInt8], to reader: Bytes32, ephemeral: SecretBytes, nonce: [UInt8], salt: SecretBytes? = nil,
        vouchingFor data: [UInt8]
    ) throws(KeyError) {
        let sender = Sodium.boxPublicKey(of: ephemeral.bytes)
        let pair = (sender: sender, reader: reader.bytes)
        guard let key = Self.key(privateKey: ephemeral, other: reader.bytes, of: pair, salt: salt) else {
            throw .weakKey
        }
        let inner = SealedBytes(plain, key: key, nonce: nonce, vouchingFor: data)
        self.init(SealedBytes(nonce: nonce, ciphertext: sender + inner.ciphertext))
    }

    func open(
        privateKey: SecretBytes, publicKey: Bytes32, salt: SecretBytes?, vouchingFor data: [UInt8]
    ) -> [UInt8]? {
        let sender = Array(self.sealed.ciphertext.prefix(Limits.publicKeyBytes))
        let pair = (sender: sender, reader: publicKey.bytes)
        guard let key = Self.key(privateKey: privateKey, other: sender, of: pair, salt: salt) else { return nil }
        let inner = Array(self.sealed.ciphertext.dropFirst(Limits.publicKeyBytes))
        return SealedBytes(nonce: self.sealed.nonce, ciphertext: inner).open(key: key, vouchingFor: data)
    }

    /// - Returns: `nil` if the other key is of low order, or no key.
    private static func key(
        privateKey: SecretBytes, other: [UInt8], of pair: (sender: [UInt8], reader: [UInt8]), salt: SecretBytes?
    ) -> SecretBytes? {
        Sodium.sharedSecret(privateKey: privateKey.bytes, publicKey: other).map { shared in
            KeyDerivation.key(
                of: SecretBytes(shared), salt: salt, info: Array(LiveKeyNames.box.utf8) + pair.sender + pair.reader)
        }
    }
}
