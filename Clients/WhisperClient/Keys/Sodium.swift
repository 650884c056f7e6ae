import CSodium

/// libsodium behind Swift types: the only file that imports it. Every function checks the sizes it is given.
package enum Sodium {
    /// Must be touched before anything else; every entry below does so.
    private static let started: Void = {
        precondition(sodium_init() >= 0, "libsodium cannot start")
    }()

    package static func random(_ count: Int) -> [UInt8] {
        Self.started
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, written in
            if count > 0 { randombytes_buf(buffer.baseAddress!, count) }
            written = count
        }
    }

    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
        return digest
    }

    static func hmacSHA256(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
        var state = crypto_auth_hmacsha256_state()
        var digest = [UInt8](repeating: 0, count: Int(crypto_auth_hmacsha256_BYTES))
        crypto_auth_hmacsha256_init(&state, key, key.count)
        crypto_auth_hmacsha256_update(&state, bytes, UInt64(bytes.count))
        crypto_auth_hmacsha256_final(&state, &digest)
        return digest
    }

    /// An Ed25519 key pair from its 32-byte seed. The secret is libsodium's 64-byte form: seed and public key.
    static func signingKeys(seed: [UInt8]) -> (publicKey: [UInt8], secretKey: [UInt8]) {
        precondition(seed.count == Int(crypto_sign_SEEDBYTES))
        Self.started
        var publicKey = [UInt8](repeating: 0, count: Int(crypto_sign_PUBLICKEYBYTES))
        var secretKey = [UInt8](repeating: 0, count: Int(crypto_sign_SECRETKEYBYTES))
        crypto_sign_seed_keypair(&publicKey, &secretKey, seed)
        return (publicKey, secretKey)
    }

    /// The X25519 public key of a 32-byte private key.
    static func boxPublicKey(of privateKey: [UInt8]) -> [UInt8] {
        precondition(privateKey.count == Int(crypto_box_SECRETKEYBYTES))
        Self.started
        var publicKey = [UInt8](repeating: 0, count: Int(crypto_box_PUBLICKEYBYTES))
        crypto_scalarmult_base(&publicKey, privateKey)
        return publicKey
    }

    /// X25519 (RFC 7748).
    /// - Returns: `nil` for a public key of low order: the shared secret would be all zero.
    static func sharedSecret(privateKey: [UInt8], publicKey: [UInt8]) -> [UInt8]? {
        precondition(privateKey.count == Int(crypto_scalarmult_SCALARBYTES))
        guard publicKey.count == Int(crypto_scalarmult_BYTES) else { return nil }
        Self.started
        var secret = [UInt8](repeating: 0, count: Int(crypto_scalarmult_BYTES))
        guard crypto_scalarmult(&secret, privateKey, publicKey) == 0 else { return nil }
        return secret
    }

    /// Compares in a time that says nothing about where the two differ.
    package static func areEqual(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        a.count == b.count && sodium_memcmp(a, b, a.count) == 0
    }

    static func sign(_ bytes: [UInt8], secretKey: [UInt8]) -> [UInt8] {
        precondition(secretKey.count == Int(crypto_sign_SECRETKEYBYTES))
        var signature = [UInt8](repeating: 0, count: Int(crypto_sign_BYTES))
        crypto_sign_detached(&signature, nil, bytes, UInt64(bytes.count), secretKey)
        return signature
    }

    /// Strict: small-order keys and S not below L are refused.
    package static func verify(_ signature: [UInt8], of bytes: [UInt8], publicKey: [UInt8]) -> Bool {
        guard signature.count == Int(crypto_sign_BYTES), publicKey.count == Int(crypto_sign_PUBLICKEYBYTES) else {
            return false
        }
        Self.started
        return crypto_sign_verify_detached(signature, bytes, UInt64(bytes.count), publicKey) == 0
    }

    /// The key that two people share: X25519 and HSalsa20.
    /// - Returns: `nil` for a low-order public key.
    static func sharedKey(_ publicKey: [UInt8], _ privateKey: [UInt8]) -> SecretBytes? {
        guard publicKey.count == Int(crypto_box_PUBLICKEYBYTES), privateKey.count == Int(crypto_box_SECRETKEYBYTES)
        else { return nil }
        Self.started
        var key = [UInt8](repeating: 0, count: Int(crypto_box_BEFORENMBYTES))
        guard crypto_box_beforenm(&key, publicKey, privateKey) == 0 else { return nil }
        return SecretBytes(key)
    }

    /// - Returns: `nil` for a nonce of another size.
    static func box(_ plain: [UInt8], nonce: [UInt8], sharedKey: SecretBytes) -> [UInt8]? {
        guard nonce.count == Int(crypto_box_NONCEBYTES) else { return nil }
        var sealed = [UInt8](repeating: 0, count: plain.count + Int(crypto_box_MACBYTES))
        guard crypto_box_easy_afternm(&sealed, plain, UInt64(plain.count), nonce, sharedKey.bytes) == 0 else {
            return nil
        }
        return sealed
    }

    /// - Returns: `nil` if the bytes were not boxed with this key and nonce.
    static func openBox(_ sealed: [UInt8], nonce: [UInt8], sharedKey: SecretBytes) -> [UInt8]? {
        guard nonce.count == Int(crypto_box_NONCEBYTES), sealed.count >= Int(crypto_box_MACBYTES) else { return nil }
        var plain = [UInt8](repeating: 0, count: sealed.count - Int(crypto_box_MACBYTES))
        guard crypto_box_open_easy_afternm(&plain, sealed, UInt64(sealed.count), nonce, sharedKey.bytes) == 0 else {
            return nil
        }
        return plain
    }

    /// Authenticated encryption with a shared key of 32 bytes and a nonce of 24.
    package static func secretbox(_ plain: [UInt8], nonce: [UInt8], key: [UInt8]) -> [UInt8] {
        precondition(nonce.count == Int(crypto_secretbox_NONCEBYTES) && key.count == Int(crypto_secretbox_KEYBYTES))
        var sealed = [UInt8](repeating: 0, count: plain.count + Int(crypto_secretbox_MACBYTES))
        crypto_secretbox_easy(&sealed, plain, UInt64(plain.count), nonce, key)
        return sealed
    }

    /// - Returns: `nil` if the bytes were not sealed with this key and nonce.
    package static func openSecretbox(_ sealed: [UInt8], nonce: [UInt8], key: [UInt8]) -> [UInt8]? {
        guard nonce.count == Int(crypto_secretbox_NONCEBYTES), key.count == Int(crypto_secretbox_KEYBYTES),
            sealed.count >= Int(crypto_secretbox_MACBYTES)
        else { return nil }
        var plain = [UInt8](repeating: 0, count: sealed.count - Int(crypto_secretbox_MACBYTES))
        guard crypto_secretbox_open_easy(&plain, sealed, UInt64(sealed.count), nonce, key) == 0 else { return nil }
        return plain
    }

    // MARK: Secretbox in pieces

    /// The beginning of the key stream behind a secretbox: its first 32 bytes are the key of the tag.
    /// - Returns: `nil` for a key or nonce of another size.
    static func secretboxKeystream(_ count: Int, nonce: [UInt8], key: SecretBytes) -> [UInt8]? {
        guard nonce.count == Int(crypto_secretbox_NONCEBYTES), key.bytes.count == Int(crypto_secretbox_KEYBYTES) else {
            return nil
        }
        Self.started
        var stream = [UInt8](repeating: 0, count: count)
        crypto_stream_xsalsa20(&stream, UInt64(count), nonce, key.bytes)
        return stream
    }

    /// Applies the key stream of a secretbox to a piece of its text. The text begins 32 bytes into the stream.
    /// - Parameter block: where the piece begins in the text, in blocks of 64 bytes.
    static func secretboxCrypt(_ piece: [UInt8], atBlock block: UInt64, nonce: [UInt8], key: SecretBytes) -> [UInt8] {
        var padded = [UInt8](repeating: 0, count: 32) + piece
        crypto_stream_xsalsa20_xor_ic(&padded, padded, UInt64(padded.count), nonce, block, key.bytes)
        return Array(padded[32...])
    }

    /// Poly1305 over what comes in pieces.
    struct OneTimeAuthenticator: Sendable {
        private var state = crypto_onetimeauth_state()

        init(key: [UInt8]) {
            precondition(key.count == Int(crypto_onetimeauth_KEYBYTES))
            crypto_onetimeauth_init(&self.state, key)
        }

        mutating func update(_ bytes: [UInt8]) { crypto_onetimeauth_update(&self.state, bytes, UInt64(bytes.count)) }

        func tag() -> [UInt8] {
            var (state, tag) = (self.state, [UInt8](repeating: 0, count: Int(crypto_onetimeauth_BYTES)))
            crypto_onetimeauth_final(&state, &tag)
            return tag
        }
    }

    static func erase(_ bytes: inout [UInt8]) {
        bytes.withUnsafeMutableBytes { sodium_memzero($0.baseAddress, $0.count) }
    }
}
