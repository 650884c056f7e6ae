import Contract

/// Frames of a call are encrypted for their reader and signed by their writer.
extension SignedCall {
    /// - Parameter type: of the frame, which the signature names.
    init(
        sealing text: String, as type: String, callID: UUIDText, from: WhisperID, to: Contact, timestamp: Timestamp,
        isVideo: Bool, reason: String?, keys: IdentityKeys
    ) throws(KeyError) {
        let nonce = Sodium.random(Limits.nonceBytes)
        self.init(
            type, callID: callID, from: from, to: to.id, timestamp: timestamp, nonce: nonce,
            ciphertext: try keys.box(Array(text.utf8), nonce: nonce, to: to.keys), signature: Bytes64(),
            isVideo: isVideo, reason: reason)
        self.signature = Bytes64(keys.sign(self.canonical))!
    }

    /// Checks the signature with the writer's pinned keys, then decrypts.
    /// - Returns: `nil` if it is not the writer's, or not for our keys.
    func opened(writer: PublicKeys, keys: IdentityKeys) -> String? {
        guard
            Sodium.verify(
                self.signature.bytes, of: Sodium.sha256(self.canonical.bytes), publicKey: writer.sign.bytes),
            let plain = try? keys.openBox(self.ciphertext, nonce: self.nonce, from: writer)
        else { return nil }
        return String(validating: plain, as: UTF8.self)
    }
}
