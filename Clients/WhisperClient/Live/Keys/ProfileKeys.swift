import Contract
import FoundationEssentials

/// The keys derived from a profile's secret (contract §14.4). The server has the hash of the join key, and never the
/// document key.
struct ProfileKeys: Sendable {
    let joinKey: [UInt8]
    /// Seals the documents that the devices share.
    let documentKey: SecretBytes
    private let signSeed: SecretBytes

    /// - Parameter secret: 32 random bytes.
    init(secret: SecretBytes) {
        self.joinKey = KeyDerivation.key(of: secret, info: "whisper/profile/join").bytes
        self.documentKey = KeyDerivation.key(of: secret, info: "whisper/profile/document")
        self.signSeed = KeyDerivation.key(of: secret, info: "whisper/profile/sign")
    }

    /// Shows a whisperer that a listener is a device of this profile (contract §14.7, §19.13).
    func membership(of listener: PrincipalID, in conversation: ConversationID) -> (key: [UInt8], signature: [UInt8]) {
        let keys = Sodium.signingKeys(seed: self.signSeed.bytes)
        let digest = Sodium.sha256(LiveStatement.membership(of: listener, in: conversation))
        return (keys.publicKey, Sodium.sign(digest, secretKey: keys.secretKey))
    }

    /// The body of `PUT /profiles/{profileId}`.
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

    /// The body of `POST /profiles/{profileId}/members`.
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
