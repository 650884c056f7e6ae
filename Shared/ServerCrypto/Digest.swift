internal import COpenSSL
package import Contract

/// SHA-256 over pieces, without copying them together.
package struct SHA256: ~Copyable {
    private let context: OpaquePointer

    // Fetched once: looking an algorithm up by name costs more than hashing a token. `EVP_sha256()` is looked up with each hash (crypto(7),
    // *Implicit fetching*).
    private nonisolated(unsafe) static let algorithm = EVP_MD_fetch(nil, "SHA256", nil)!

    package init() {
        self.context = EVP_MD_CTX_new()
        EVP_DigestInit_ex(self.context, Self.algorithm, nil)
    }

    deinit { EVP_MD_CTX_free(self.context) }

    package func update(_ bytes: UnsafeBufferPointer<UInt8>) {
        EVP_DigestUpdate(self.context, bytes.baseAddress, bytes.count)
    }

    package consuming func finish() -> Bytes32 {
        var digest = Bytes32()
        digest.withUnsafeMutableBytes {
            _ = EVP_DigestFinal_ex(self.context, $0.baseAddress!.assumingMemoryBound(to: UInt8.self), nil)
        }
        return digest
    }

    package static func hash(_ bytes: [UInt8]) -> Bytes32 {
        bytes.withUnsafeBufferPointer { Self.hash($0) }
    }

    package static func hash(_ bytes: UnsafeBufferPointer<UInt8>) -> Bytes32 {
        let hash = SHA256()
        hash.update(bytes)
        return hash.finish()
    }
}

/// HMAC-SHA-256 (RFC 2104).
package func hmacSHA256(key: [UInt8], _ message: [UInt8]) -> Bytes32 {
    var code = Bytes32()
    code.withUnsafeMutableBytes {
        _ = HMAC(
            EVP_sha256(), key, Int32(key.count), message, message.count,
            $0.baseAddress!.assumingMemoryBound(to: UInt8.self), nil)
    }
    return code
}

/// HMAC-SHA-1, 20 bytes (RFC 2104): TURN servers take no other for credentials made from a shared secret
/// (draft-uberti-behave-turn-rest, 2.2).
package func hmacSHA1(key: [UInt8], _ message: [UInt8]) -> [UInt8] {
    var code = [UInt8](repeating: 0, count: 20)
    _ = HMAC(EVP_sha1(), key, Int32(key.count), message, message.count, &code, nil)
    return code
}

/// Equality in a time that does not depend on the contents.
package func constantTimeEqual(_ a: Bytes32, _ b: Bytes32) -> Bool {
    a.withUnsafeBytes { a in b.withUnsafeBytes { b in CRYPTO_memcmp(a.baseAddress!, b.baseAddress!, 32) == 0 } }
}

/// Bytes from the system's cryptographic generator.
package func randomBytes(_ count: Int) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
        precondition(RAND_bytes(buffer.baseAddress, Int32(count)) == 1, "the system has no randomness")
        written = count
    }
}

/// SHA-1, 20 bytes: for the WebSocket handshake (RFC 6455 §4.2.2) and nothing that needs to be safe.
package func sha1(_ bytes: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 20)
    _ = COpenSSL.SHA1(bytes, bytes.count, &digest)
    return digest
}
