import CSodium

/// The keys of one client, made up on the spot.
struct SigningKeys: Sendable {
    let publicKey: [UInt8]
    /// X25519, registered with the identity and never used: nothing here is really encrypted.
    let boxPublicKey: [UInt8]
    private let secretKey: [UInt8]

    init() {
        precondition(sodium_init() >= 0, "libsodium cannot start")
        var publicKey = [UInt8](repeating: 0, count: Int(crypto_sign_PUBLICKEYBYTES))
        var secretKey = [UInt8](repeating: 0, count: Int(crypto_sign_SECRETKEYBYTES))
        crypto_sign_keypair(&publicKey, &secretKey)
        var boxPublicKey = [UInt8](repeating: 0, count: Int(crypto_box_PUBLICKEYBYTES))
        var boxSecretKey = [UInt8](repeating: 0, count: Int(crypto_box_SECRETKEYBYTES))
        crypto_box_keypair(&boxPublicKey, &boxSecretKey)
        self.publicKey = publicKey
        self.secretKey = secretKey
        self.boxPublicKey = boxPublicKey
    }

    func sign(_ bytes: [UInt8]) -> [UInt8] {
        var signature = [UInt8](repeating: 0, count: Int(crypto_sign_BYTES))
        crypto_sign_detached(&signature, nil, bytes, UInt64(bytes.count), self.secretKey)
        return signature
    }

    static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: Int(crypto_hash_sha256_BYTES))
        crypto_hash_sha256(&digest, bytes, UInt64(bytes.count))
        return digest
    }

    static func random(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        randombytes_buf(&bytes, count)
        return bytes
    }
}
