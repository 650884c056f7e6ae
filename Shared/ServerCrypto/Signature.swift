internal import CSodium
package import Contract

/// Ed25519 verification and the checks on public keys, by libsodium: strict RFC 8032 (S below the group's order,
/// no small-order keys), and the fastest of the libraries tried.
package enum Signatures {
    private static let isReady = sodium_init() >= 0

    /// Whether `signature` is the key's over exactly these bytes.
    package static func isValid(_ signature: Bytes64, over message: [UInt8], by key: Bytes32) -> Bool {
        message.withUnsafeBytes { Self.isValid(signature, over: $0, by: key) }
    }

    /// Whether `signature` is the key's over a message's digest (spec §3.5).
    package static func isValid(_ signature: Bytes64, over digest: Bytes32, by key: Bytes32) -> Bool {
        digest.withUnsafeBytes { Self.isValid(signature, over: $0, by: key) }
    }

    private static func isValid(_ signature: Bytes64, over message: UnsafeRawBufferPointer, by key: Bytes32) -> Bool {
        guard Self.isReady else { return false }
        return signature.withUnsafeBytes { signature in
            key.withUnsafeBytes { key in
                crypto_sign_ed25519_verify_detached(
                    signature.baseAddress!.assumingMemoryBound(to: UInt8.self),
                    message.baseAddress?.assumingMemoryBound(to: UInt8.self), UInt64(message.count),
                    key.baseAddress!.assumingMemoryBound(to: UInt8.self)) == 0
            }
        }
    }

    /// Whether an Ed25519 public key is a point of the main subgroup in its canonical spelling.
    package static func isUsableSignKey(_ key: Bytes32) -> Bool {
        guard Self.isReady else { return false }
        return key.withUnsafeBytes {
            crypto_core_ed25519_is_valid_point($0.baseAddress!.assumingMemoryBound(to: UInt8.self)) == 1
        }
    }

    /// Whether an X25519 public key is in canonical form (contract §13a: bit 255 clear, below 2^255 - 19) and gives a
    /// shared secret at all: low-order points give zero with every private key.
    ///
    /// RFC 7748 §5 takes every 32 bytes as a key and ignores bit 255, so one key has two or more spellings. Keys are
    /// compared by their bytes; without this check one pair of keys could have several identities.
    package static func isUsableEncKey(_ key: Bytes32) -> Bool {
        let words = key.words
        guard Self.isReady, words.3 >> 63 == 0, FieldElement(canonical: words) != nil else { return false }
        var scalar = [UInt8](repeating: 0, count: 32)
        scalar[0] = 8
        scalar[31] = 64
        var product = [UInt8](repeating: 0, count: 32)
        return key.withUnsafeBytes {
            crypto_scalarmult_curve25519(&product, scalar, $0.baseAddress!.assumingMemoryBound(to: UInt8.self)) == 0
        }
    }
}
