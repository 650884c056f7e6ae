import Contract

/// Bytes sealed with a key that both sides have: SEALED of contract §14.2.
package struct SealedBytes: Hashable, Sendable {
    package var nonce: [UInt8]
    /// The ciphertext, followed by its tag.
    package var ciphertext: [UInt8]

    package init(nonce: [UInt8], ciphertext: [UInt8]) {
        self.nonce = nonce
        self.ciphertext = ciphertext
    }

    /// - Parameters:
    ///   - nonce: 12 fresh random bytes.
    ///   - data: authenticated with the content (`LiveSeals`).
    package init(_ plain: [UInt8], key: SecretBytes, nonce: [UInt8], vouchingFor data: [UInt8]) {
        self.init(nonce: nonce, ciphertext: AES256GCM.seal(plain, key: key, nonce: nonce, vouchingFor: data))
    }

    /// - Returns: `nil` if another key sealed it, or anything was changed or moved.
    package func open(key: SecretBytes, vouchingFor data: [UInt8]) -> [UInt8]? {
        AES256GCM.open(self.ciphertext, key: key, nonce: self.nonce, vouchingFor: data)
    }

    package var nonceText: String { String(decoding: Base64.encode(self.nonce), as: UTF8.self) }
    package var ciphertextText: String { String(decoding: Base64.encode(self.ciphertext), as: UTF8.self) }
}
