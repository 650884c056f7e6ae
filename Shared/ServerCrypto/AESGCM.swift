internal import COpenSSL

/// AES-128 in Galois/counter mode (NIST SP 800-38D), the content encoding's cipher of RFC 8188.
package enum AES128GCM {
    package static let keyBytes = 16
    package static let nonceBytes = 12
    package static let tagBytes = 16

    /// - Returns: the ciphertext, and the tag behind it.
    package static func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        guard key.count == Self.keyBytes, nonce.count == Self.nonceBytes else { return nil }
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        var output = [UInt8](repeating: 0, count: plaintext.count)
        var tag = [UInt8](repeating: 0, count: Self.tagBytes)
        var (count, rest): (Int32, Int32) = (0, 0)
        var spare: UInt8 = 0
        guard EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1,
            EVP_EncryptUpdate(context, &output, &count, plaintext, Int32(plaintext.count)) == 1,
            count == Int32(plaintext.count), EVP_EncryptFinal_ex(context, &spare, &rest) == 1, rest == 0,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(Self.tagBytes), &tag) == 1
        else { return nil }
        return output + tag
    }

    /// - Returns: nil if the key is not the one, or anything was changed.
    package static func open(_ sealed: [UInt8], key: [UInt8], nonce: [UInt8]) -> [UInt8]? {
        guard key.count == Self.keyBytes, nonce.count == Self.nonceBytes, sealed.count >= Self.tagBytes else {
            return nil
        }
        let ciphertext = Array(sealed.dropLast(Self.tagBytes))
        var tag = Array(sealed.suffix(Self.tagBytes))
        let context = EVP_CIPHER_CTX_new()
        defer { EVP_CIPHER_CTX_free(context) }
        var output = [UInt8](repeating: 0, count: ciphertext.count)
        var (count, rest): (Int32, Int32) = (0, 0)
        var spare: UInt8 = 0
        guard EVP_DecryptInit_ex(context, EVP_aes_128_gcm(), nil, key, nonce) == 1,
            EVP_DecryptUpdate(context, &output, &count, ciphertext, Int32(ciphertext.count)) == 1,
            EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(Self.tagBytes), &tag) == 1,
            EVP_DecryptFinal_ex(context, &spare, &rest) == 1
        else { return nil }
        return output
    }

    // evp.h: EVP_CTRL_AEAD_GET_TAG, EVP_CTRL_AEAD_SET_TAG.
    private static let EVP_CTRL_AEAD_GET_TAG: Int32 = 0x10
    private static let EVP_CTRL_AEAD_SET_TAG: Int32 = 0x11
}
