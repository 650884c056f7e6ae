import FoundationEssentials

/// What the secret of a profile gives (contract §14.4). The server sees the hash of the key that devices join with, and nothing of
/// the key of its documents.
struct ProfileKeys: Sendable {
    let joinKey: [UInt8]
    /// Seals what the devices leave for each other.
    let documentKey: SecretBytes

    /// - Parameter secret: 32 random bytes.
    init(secret: SecretBytes) {
        self.joinKey = KeyDerivation.key(of: secret, info: "whisper/profile/join").bytes
        self.documentKey = KeyDerivation.key(of: secret, info: "whisper/profile/document")
    }

    /// Of `PUT /profiles/{profileId}`.
    var body: [UInt8] {
        struct Body: Encodable {
            var protocolVersion = Version.protocolVersion
            var cryptoVersion = Version.cryptoVersion
            var joinHash: String
        }
        let hash = Data(Sodium.sha256(self.joinKey)).base64EncodedString()
        // Our own plain values: encoding them cannot fail.
        return try! Array(JSONEncoder().encode(Body(joinHash: hash)))
    }

    /// Of `POST /profiles/{profileId}/members`.
    var joinBody: [UInt8] {
        struct Body: Encodable {
            var protocolVersion = Version.protocolVersion
            var cryptoVersion = Version.cryptoVersion
            var joinKey: String
        }
        // Our own plain values: encoding them cannot fail.
        return try! Array(JSONEncoder().encode(Body(joinKey: Data(self.joinKey).base64EncodedString())))
    }
}
