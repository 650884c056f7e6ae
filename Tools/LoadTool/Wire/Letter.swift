import Contract

/// The common part of all messages of one sender to one recipient, and how each of them is signed. Signing is done
/// before the measurement: a signature costs a client more than a message costs this tool.
struct Letter: Sendable {
    var conversation: Int
    var seed: UInt64
    var from: String
    var to: String
    /// The group's id, for group mail.
    var group: String?
    /// Milliseconds; good for ten minutes on either side.
    var timestamp: Int64
    var nonce: String
    var ciphertext: String
    var keys: SigningKeys

    var type: String { self.group == nil ? "send_message" : "group_send_message" }

    /// Base64, `FrameTemplate.signatureLength` characters.
    func signature(of sequence: Int) -> [UInt8] {
        let number = MessageNumber(conversation: self.conversation, sequence: sequence)
        let message = CanonicalMessage(
            type: self.type, messageID: number.text(seed: self.seed), from: self.from,
            toOrGroupID: self.group ?? self.to, timestamp: self.timestamp, nonce: self.nonce,
            ciphertext: self.ciphertext)
        return Base64.encode(self.keys.sign(SigningKeys.sha256(message.bytes)))
    }

    /// Signatures of the first `count` messages, one behind the other.
    func signatures(count: Int) -> [UInt8] {
        var signatures: [UInt8] = []
        signatures.reserveCapacity(count * FrameTemplate.signatureLength)
        for sequence in 0..<count { signatures += self.signature(of: sequence) }
        return signatures
    }
}
