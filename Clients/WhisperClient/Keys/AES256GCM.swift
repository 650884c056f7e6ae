import COpenSSL

/// AES-256 in Galois/counter mode (NIST SP 800-38D), the seal of everything that a browser must open too (contract §14.5).
///
/// From OpenSSL and not from libsodium: libsodium has it only for processors with AES instructions. OpenSSL uses them
/// where they are, and has a constant-time version where they are not, so there is one way on all machines.
package enum AES256GCM {
    package static let keyBytes = 32
    package static let nonceBytes = 12
    package static let tagBytes = 16

    /// - Returns: the ciphertext, and the tag behind it.
    package static func seal(
        _ plaintext: [UInt8], key: SecretBytes, nonce: [UInt8], vouchingFor data: [UInt8]
    )
        -> [UInt8]
    {
        precondition(key.bytes.count == Self.keyBytes && nonce.count == Self.nonceBytes)
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        var output = [UInt8](repeating: 0, count: plaintext.count)
        var tag = [UInt8](repeating: 0, count: Self.tagBytes)
        var count: Int32 = 0
        var spare: UInt8 = 0
        let isSealed =
            EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), nil, key.bytes, nonce) == 1
            && EVP_EncryptUpdate(context, nil, &count, data, Int32(data.count)) == 1
            && EVP_EncryptUpdate(context, &output, &count, plaintext, Int32(plaintext.count)) == 1
            && EVP_EncryptFinal_ex(context, &spare, &count) == 1
            && EVP_CIPHER_CTX_ctrl(context, Self.getTag, Int32(Self.tagBytes), &tag) == 1
        // Sizes are right, so nothing is left that could fail but memory.
        precondition(isSealed, "OpenSSL cannot seal")
        return output + tag
    }

    /// - Returns: `nil` if the key is not the one, or anything was changed.
    package static func open(
        _ sealed: [UInt8], key: SecretBytes, nonce: [UInt8], vouchingFor data: [UInt8]
    )
        -> [UInt8]?
    {
        precondition(key.bytes.count == Self.keyBytes)
        guard nonce.count == Self.nonceBytes, sealed.count >= Self.tagBytes else { return nil }
        let ciphertext = Array(sealed.dropLast(Self.tagBytes))
        var tag = Array(sealed.suffix(Self.tagBytes))
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        var output = [UInt8](repeating: 0, count: ciphertext.count)
        var count: Int32 = 0
        var spare: UInt8 = 0
        guard EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), nil, key.bytes, nonce) == 1,
            EVP_DecryptUpdate(context, nil, &count, data, Int32(data.count)) == 1,
            EVP_DecryptUpdate(context, &output, &count, ciphertext, Int32(ciphertext.count)) == 1,
            EVP_CIPHER_CTX_ctrl(context, Self.setTag, Int32(Self.tagBytes), &tag) == 1,
            EVP_DecryptFinal_ex(context, &spare, &count) == 1
        else { return nil }
        return output
    }

    // evp.h: EVP_CTRL_AEAD_GET_TAG, EVP_CTRL_AEAD_SET_TAG. They are macros that Swift does not see.
    private static let getTag: Int32 = 0x10
    private static let setTag: Int32 = 0x11
}
