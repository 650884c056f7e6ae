package import Contract

/// A seal or BOX with the sender's signature: LSIGN of contract §14.2.
extension LiveSigned {
    /// - Parameter signer: the conversation's keys, or the listener's own (`LiveSignature`).
    package init(
        _ sealed: SealedBytes, as kind: LiveSignature, of conversation: ConversationID, from: PrincipalID,
        timestamp: Timestamp, signer: KeyPair
    ) {
        self.init(
            from: from, timestamp: timestamp, nonce: sealed.nonce, ciphertext: sealed.ciphertext, signature: Bytes64())
        self.signature = Bytes64(signer.sign(self.message(kind, of: conversation)))!
    }

    package func isSigned(as kind: LiveSignature, of conversation: ConversationID, by keys: PublicKeys) -> Bool {
        let message = self.message(kind, of: conversation)
        return Sodium.verify(self.signature.bytes, of: Sodium.sha256(message.bytes), publicKey: keys.sign.bytes)
    }
}

extension LiveJoined.Grant {
    var signed: LiveSigned? {
        Bytes64(self.signature).map {
            LiveSigned(
                from: .identity(self.from), timestamp: self.timestamp, nonce: self.nonce, ciphertext: self.ciphertext,
                signature: $0)
        }
    }
}
