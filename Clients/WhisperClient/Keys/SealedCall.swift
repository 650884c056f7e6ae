import Contract

/// One frame of a call, encrypted for its reader and signed by its writer.
struct SealedCall: Sendable, Equatable {
    var callID: String
    var from: String
    var to: String
    var timestamp: Int64
    var nonce: String
    var ciphertext: String
    var signature: String

    /// - Parameters:
    ///   - type: of the frame, which the signature names.
    ///   - nonce: 24 fresh random bytes.
    init(
        _ text: String, type: String, callID: UUIDText, from: WhisperID, to: Contact, timestamp: Timestamp,
        nonce: [UInt8], keys: IdentityKeys
    ) throws(KeyError) {
        func base64(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }
        let ciphertext = try keys.box(Array(text.utf8), nonce: nonce, to: to.keys)
        self.callID = "\(callID)"
        self.from = "\(from)"
        self.to = "\(to.id)"
        self.timestamp = timestamp.milliseconds
        self.nonce = base64(nonce)
        self.ciphertext = base64(ciphertext)
        let canonical = CanonicalMessage(
            type: type, messageID: self.callID, from: self.from, toOrGroupID: self.to, timestamp: self.timestamp,
            nonce: self.nonce, ciphertext: self.ciphertext)
        self.signature = base64(keys.sign(canonical))
    }

    /// Checks the signature with the writer's pinned keys, then decrypts.
    /// - Returns: `nil` if it is not the writer's, or not for our keys.
    static func open(_ call: SignedCall, writer: PublicKeys, keys: IdentityKeys) -> String? {
        let canonical = call.canonical
        guard
            Sodium.verify(
                call.signature.bytes, of: Sodium.sha256(canonical.bytes), publicKey: writer.sign.bytes),
            let nonce = Base64.decode(canonical.nonce), let ciphertext = Base64.decode(canonical.ciphertext),
            let plain = try? keys.openBox(ciphertext, nonce: nonce, from: writer)
        else { return nil }
        return String(validating: plain, as: UTF8.self)
    }
}
