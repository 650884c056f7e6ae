import COpenSSL

/// The two key derivations of the protocol (spec §3.4).
package enum KeyDerivation {
    /// PBKDF2 with HMAC-SHA512, one block: 64 bytes (RFC 8018 §5.2). OpenSSL has this function, and libsodium does not.
    package static func pbkdf2SHA512(password: [UInt8], salt: [UInt8], rounds: Int) -> [UInt8] {
        var block = [UInt8](repeating: 0, count: 64)
        let isDerived = password.withUnsafeBytes { password in
            PKCS5_PBKDF2_HMAC(
                password.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(password.count), salt,
                Int32(salt.count), Int32(rounds), EVP_sha512(), Int32(block.count), &block)
        }
        // Sizes are right, so nothing is left that could fail but memory.
        precondition(isDerived == 1, "OpenSSL cannot derive")
        return block
    }

    /// HKDF with SHA-256, one block: 32 bytes (RFC 5869).
    package static func hkdfSHA256(_ secret: [UInt8], salt: [UInt8], info: [UInt8]) -> [UInt8] {
        let extracted = Sodium.hmacSHA256(key: salt, secret)
        return Sodium.hmacSHA256(key: extracted, info + [1])
    }

    package static func hkdfSHA256(_ secret: [UInt8], salt: String, info: [UInt8]) -> [UInt8] {
        self.hkdfSHA256(secret, salt: Array(salt.utf8), info: info)
    }

    package static func hkdfSHA256(_ secret: [UInt8], salt: String, info: String) -> [UInt8] {
        self.hkdfSHA256(secret, salt: salt, info: Array(info.utf8))
    }

    /// HKDF as all keys of the protocol are derived: with the salt `whisper`.
    /// - Parameter more: a secret that stands behind the salt (contract §15.2).
    package static func key(of secret: SecretBytes, salt more: SecretBytes? = nil, info: [UInt8]) -> SecretBytes {
        SecretBytes(self.hkdfSHA256(secret.bytes, salt: Array("whisper".utf8) + (more?.bytes ?? []), info: info))
    }

    package static func key(of secret: SecretBytes, info: String) -> SecretBytes {
        self.key(of: secret, info: Array(info.utf8))
    }
}
