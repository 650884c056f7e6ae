/// The bytes that a message signature covers, before SHA-256 (spec §3.5, frozen):
/// `v1`, type, message id, sender, recipient or group, time, nonce and ciphertext, each followed by a line feed,
/// all as text exactly as it stands in the frame.
package struct CanonicalMessage {
    package var type: String
    package var messageID: String
    package var from: String
    package var toOrGroupID: String
    package var timestamp: Int64
    package var nonce: String
    package var ciphertext: String

    package init(
        type: String, messageID: String, from: String, toOrGroupID: String, timestamp: Int64, nonce: String,
        ciphertext: String
    ) {
        self.type = type
        self.messageID = messageID
        self.from = from
        self.toOrGroupID = toOrGroupID
        self.timestamp = timestamp
        self.nonce = nonce
        self.ciphertext = ciphertext
    }

    /// Clients sign the SHA-256 of these bytes with Ed25519.
    package var bytes: [UInt8] {
        let lines = [
            "v1", self.type, self.messageID, self.from, self.toOrGroupID, String(self.timestamp), self.nonce,
            self.ciphertext,
        ]
        return lines.flatMap { Array($0.utf8) + [UInt8(ascii: "\n")] }
    }
}
