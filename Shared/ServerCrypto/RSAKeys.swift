internal import COpenSSL

/// RS256 (RFC 7518 §3.3): how a Google service account signs.
package struct RSAPrivateKey: Sendable {
    private let key: KeyHandle

    /// - Parameter pem: PKCS #8, at least 2048 bits.
    /// - Returns: nil if it is anything else.
    package init?(pem: String) {
        guard let key = KeyHandle.privateKey(pem: pem), EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_RSA,
            EVP_PKEY_get_bits(key.pointer) >= 2_048
        else { return nil }
        self.key = key
    }

    /// RSASSA-PKCS1-v1_5 with SHA-256. Takes about a millisecond.
    package func sign(_ message: [UInt8]) -> [UInt8]? { self.key.sign(message) }
}

package struct RSAPublicKey: Sendable {
    private let key: KeyHandle

    package init?(pem: String) {
        guard let key = KeyHandle.publicKey(pem: pem), EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_RSA else {
            return nil
        }
        self.key = key
    }

    package func isValid(_ signature: [UInt8], over message: [UInt8]) -> Bool {
        self.key.isValid(signature, over: message)
    }
}
