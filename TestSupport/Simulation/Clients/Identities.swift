import Contract
import TestKit
import WhisperClient

/// The same few people in every world: making keys takes longer than playing with them.
enum Identities {
    final class Person: Sendable {
        let name: String
        let identity: WhisperID
        let device: String
        let address: String
        let pushToken: String
        /// The same keys, for the client core.
        let pair: KeyPair
        private let keys: Keys
        private let keysBase64: (enc: String, sign: String)

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
            self.device = "00000000-0000-4000-8000-" + String(repeating: "0", count: 12 - digits.count) + digits
            self.address = "10.0.0.\(number + 1)"
            self.pushToken = "token-\(number)"
            self.keysBase64 = (keys.encPublicKey.base64, keys.signPublicKey.base64)
        }

        var signPublicKey: Bytes32 { Bytes32(self.keys.signPublicKey)! }
        var encPublicKey: Bytes32 { Bytes32(self.keys.encPublicKey)! }

        /// The members of `register_proof`.
        func proof(of challenge: [UInt8], id: String) -> String {
            #""challengeId":"\#(id)","deviceId":"\#(self.device)","platform":"ios","encPublicKey":"\#(self.keysBase64.enc)","#
                + #""signPublicKey":"\#(self.keysBase64.sign)","signature":"\#(self.keys.sign(challenge).base64)","#
                + #""whisperId":"\#(self.identity)","pushToken":"\#(self.pushToken)""#
        }

        func letter(to recipient: WhisperID, at now: Timestamp) -> Phone.Letter {
            let id = UUIDText.random()
            let (nonce, ciphertext) = ("AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "Y2lwaGVydGV4dA==")
            let message = CanonicalMessage(
                type: "send_message", messageID: "\(id)", from: "\(self.identity)", toOrGroupID: "\(recipient)",
                timestamp: now.milliseconds, nonce: nonce, ciphertext: ciphertext)
            let members =
                #","messageId":"\#(id)","from":"\#(self.identity)","to":"\#(recipient)","msgType":"text","#
                + #""timestamp":\#(now.milliseconds),"nonce":"\#(nonce)","ciphertext":"\#(ciphertext)","#
                + #""sig":"\#(self.keys.sign(Keys.sha256(message.bytes)).base64)""#
            return Phone.Letter(id: id, to: recipient) { token in #""sessionToken":"\#(token)""# + members }
        }
    }

    static let all = (0..<6).map { Person($0) }

    /// For one world of many.
    static func crowd(of count: Int) -> [Person] { (0..<count).map { Person($0) } }
}
