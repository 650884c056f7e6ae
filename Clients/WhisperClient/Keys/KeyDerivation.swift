/// The two key derivations of the protocol (spec §3.4), over libsodium's HMAC.
package enum KeyDerivation {
    /// PBKDF2 with HMAC-SHA512, one block: 64 bytes (RFC 8018 §5.2).
    package static func pbkdf2SHA512(password: [UInt8], salt: [UInt8], rounds: Int) -> [UInt8] {
        let keyed = Sodium.KeyedSHA512(key: password)
        var round = keyed(salt + [0, 0, 0, 1])
        var block = round
        for _ in 1..<rounds {
            round = keyed(round)
            for index in block.indices { block[index] ^= round[index] }
        }
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
