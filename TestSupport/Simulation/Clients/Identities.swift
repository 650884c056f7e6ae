import Contract
import TestKit
import WhisperClient

/// The same few people in every world: making keys takes longer than playing a world.
enum Identities {
    final class Person: Sendable {
        let name: String
        let identity: WhisperID
        let device: UUIDText
        let address: String
        let pushToken: String
        /// The same keys, for the client core.
        let pair: KeyPair
        private let keys: Keys

        init(_ number: Int) {
            let signSeed = [UInt8](repeating: UInt8(number + 1), count: 32)
            let encSeed = [UInt8](repeating: UInt8(number + 101), count: 32)
            let keys = Keys(signSeed: signSeed, encSeed: encSeed)
            self.pair = KeyPair(signSeed: SecretBytes(signSeed), boxKey: SecretBytes(encSeed))
            self.name = "\(Character(UnicodeScalar(UInt8(65 + number))))"
            self.keys = keys
            // The keys' own id is well formed.
            self.identity = WhisperID(keys.whisperID)!
            let digits = "\(number)"
            // A well-formed UUID.
            self.device = UUIDText(
                "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits)!
            self.address = "10.0.0.\(number + 1)"
            self.pushToken = "token-\(number)"
        }

        var signPublicKey: Bytes32 { Bytes32(self.keys.signPublicKey)! }
        var encPublicKey: Bytes32 { Bytes32(self.keys.encPublicKey)! }

        var login: RegisterBegin { RegisterBegin(whisperID: self.identity, deviceID: self.device, platform: .ios) }

        func proof(of challenge: RegisterChallenge) -> RegisterProof {
            RegisterProof(
                challengeID: challenge.challengeID, deviceID: self.device, platform: .ios, whisperID: self.identity,
                encPublicKey: self.encPublicKey, signPublicKey: self.signPublicKey,
                signature: Bytes64(self.keys.sign(challenge.challenge))!, pushToken: self.pushToken)
        }

        func letter(to recipient: WhisperID, at now: Timestamp) -> Phone.Letter {
            let id = UUIDText.random()
            let (nonce, ciphertext) = ("AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "Y2lwaGVydGV4dA==")
            let message = CanonicalMessage(
                type: "send_message", messageID: "\(id)", from: "\(self.identity)", toOrGroupID: "\(recipient)",
                timestamp: now.milliseconds, nonce: nonce, ciphertext: ciphertext)
            // All parts are well formed.
            let envelope = try! SignedEnvelope(
                messageID: message.messageID, from: message.from, to: message.toOrGroupID, groupID: nil,
                msgType: "text", timestamp: message.timestamp, nonce: nonce, ciphertext: ciphertext,
                signature: self.keys.sign(Keys.sha256(message.bytes)).base64)
            return Phone.Letter(id: id, to: recipient, frame: SendMessage(envelope))
        }
    }

    static let all = (0..<6).map { Person($0) }

    /// People for a larger world.
    static func crowd(of count: Int) -> [Person] { (0..<count).map { Person($0) } }
}
