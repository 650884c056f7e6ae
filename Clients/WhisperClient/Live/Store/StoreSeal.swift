import Contract

/// Seals values of the store under a key of the identity: the file alone does not disclose them.
struct StoreSeal: Sendable {
    let key: SecretBytes

    /// - Parameter place: names the value. A value that was moved to another place does not open.
    /// - Returns: the nonce, and the ciphertext behind it.
    func seal(_ bytes: [UInt8], place: String) -> [UInt8] {
        let sealed = SealedBytes(
            bytes, key: self.key, nonce: Sodium.random(AES256GCM.nonceBytes), vouchingFor: Self.data(place))
        return sealed.nonce + sealed.ciphertext
    }

    /// - Returns: `nil` if the value belongs to another identity, or is damaged.
    func open(_ bytes: [UInt8], place: String) -> [UInt8]? {
        SealedBytes(
            nonce: Array(bytes.prefix(AES256GCM.nonceBytes)), ciphertext: Array(bytes.dropFirst(AES256GCM.nonceBytes))
        ).open(key: self.key, vouchingFor: Self.data(place))
    }

    private static func data(_ place: String) -> [UInt8] { Array("v1\nstore\n\(place)\n".utf8) }
}
