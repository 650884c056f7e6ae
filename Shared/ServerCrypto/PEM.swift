internal import COpenSSL

/// An OpenSSL key, freed with its last user. OpenSSL's keys may be used by several threads once they are made.
final class KeyHandle: Sendable {
    nonisolated(unsafe) let pointer: OpaquePointer

    /// Takes `pointer` over.
    init?(_ pointer: OpaquePointer?) {
        guard let pointer else { return nil }
        self.pointer = pointer
    }

    deinit { EVP_PKEY_free(self.pointer) }

    /// A private key in PEM (RFC 7468), PKCS #8 or the older forms, without a password.
    static func privateKey(pem: String) -> KeyHandle? {
        Self.read(pem) { PEM_read_bio_PrivateKey($0, nil, { _, _, _, _ in 0 }, nil) }
    }

    static func publicKey(pem: String) -> KeyHandle? {
        Self.read(pem) { PEM_read_bio_PUBKEY($0, nil, { _, _, _, _ in 0 }, nil) }
    }

    private static func read(_ pem: String, _ body: (OpaquePointer?) -> OpaquePointer?) -> KeyHandle? {
        var pem = pem
        return pem.withUTF8 { text in
            guard let source = BIO_new_mem_buf(text.baseAddress, Int32(text.count)) else { return nil }
            defer { BIO_free(source) }
            return KeyHandle(body(source))
        }
    }

    /// A signature over `message` with SHA-256, as OpenSSL writes it.
    func sign(_ message: [UInt8]) -> [UInt8]? {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        var count = 0
        guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, self.pointer) == 1,
            EVP_DigestSign(context, nil, &count, message, message.count) == 1
        else { return nil }
        var signature = [UInt8](repeating: 0, count: count)
        guard EVP_DigestSign(context, &signature, &count, message, message.count) == 1 else { return nil }
        return Array(signature.prefix(count))
    }

    func isValid(_ signature: [UInt8], over message: [UInt8]) -> Bool {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        guard EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, self.pointer) == 1 else { return false }
        return EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}
