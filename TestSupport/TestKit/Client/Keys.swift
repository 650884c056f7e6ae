import CSodium
import Foundation

/// The two key pairs of an identity, by libsodium alone: nothing of the server is used to check the server.
package struct Keys: Sendable {
    package let signPublicKey: [UInt8]
    package let encPublicKey: [UInt8]
    private let signSecretKey: [UInt8]

    /// The same keys for the same seeds of 32 bytes.
    package init(signSeed: [UInt8] = Keys.random(32), encSeed: [UInt8] = Keys.random(32)) {
        precondition(sodium_init() >= 0)
        var (publicKey, secretKey) = ([UInt8](repeating: 0, count: 32), [UInt8](repeating: 0, count: 64))
        crypto_sign_ed25519_seed_keypair(&publicKey, &secretKey, signSeed)
        self.signPublicKey = publicKey
        self.signSecretKey = secretKey
        crypto_scalarmult_curve25519_base(&publicKey, encSeed)
        self.encPublicKey = publicKey
    }

    package func sign(_ message: [UInt8]) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: 64)
        crypto_sign_ed25519_detached(&signature, nil, message, UInt64(message.count), self.signSecretKey)
        return signature
    }

    /// The private scalar, as RFC 8032 §5.1.5 makes it from the seed.
    var signScalar: [UInt8] {
        var scalar = [UInt8](repeating: 0, count: 32)
        precondition(crypto_sign_ed25519_sk_to_curve25519(&scalar, self.signSecretKey) == 0)
        return scalar
    }

    /// The Whisper ID of these keys with collision counter 0 (contract §4).
    package var whisperID: String {
        let digest = Keys.sha256(Array("whisper-id\n".utf8) + self.signPublicKey + self.encPublicKey + [0])
        let payload = Keys.base32(digest, symbols: 10)
        let text = payload + Keys.base32(Keys.sha256(Array("whisper-id-check\n\(payload)".utf8)), symbols: 2)
        return "WSP-\(text.prefix(4))-\(text.dropFirst(4).prefix(4))-\(text.suffix(4))"
    }

    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
        return digest
    }

    package static func random(_ count: Int) -> [UInt8] {
        precondition(sodium_init() >= 0)
        return [UInt8](unsafeUninitializedCapacity: count) { bytes, written in
            randombytes_buf(bytes.baseAddress!, count)
            written = count
        }
    }

    /// The first bits of `bytes`, five for each symbol.
    private static func base32(_ bytes: [UInt8], symbols: Int) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")
        return String(
            (0..<symbols).map { symbol in
                let value = (0..<5).reduce(0) { value, bit in
                    let position = symbol * 5 + bit
                    return value << 1 | Int(bytes[position / 8] >> UInt8(7 - position % 8) & 1)
                }
                return alphabet[value]
            })
    }
}

extension [UInt8] {
    package var base64: String { Data(self).base64EncodedString() }
}

extension String {
    /// Nil if it is not base64.
    package var bytesOfBase64: [UInt8]? { Data(base64Encoded: self).map { [UInt8]($0) } }
}

/// Milliseconds since 1970, as clients count.
package func nowMilliseconds() -> Int64 { Int64(Date().timeIntervalSince1970 * 1_000) }
