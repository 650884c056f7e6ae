package import Contract

/// A seal or BOX with the sender's signature: LSIGN of contract §14.2.
package struct SignedSeal: Hashable, Sendable {
    package var from: PrincipalID
    package var timestamp: Timestamp
    package var sealed: SealedBytes
    package var signature: [UInt8]

    /// As it came.
    package init(from: PrincipalID, timestamp: Timestamp, sealed: SealedBytes, signature: [UInt8]) {
        self.from = from
        self.timestamp = timestamp
        self.sealed = sealed
        self.signature = signature
    }

    /// - Parameter signer: the conversation's keys, or the listener's own (`LiveSignature`).
    package init(
        _ sealed: SealedBytes, as kind: LiveSignature, of conversation: ConversationID, from: PrincipalID,
        timestamp: Timestamp, signer: KeyPair
    ) {
        self.init(from: from, timestamp: timestamp, sealed: sealed, signature: [])
        self.signature = signer.sign(self.message(as: kind, of: conversation))
    }

    package func isSigned(as kind: LiveSignature, of conversation: ConversationID, by keys: PublicKeys) -> Bool {
        let message = self.message(as: kind, of: conversation)
        return Sodium.verify(self.signature, of: Sodium.sha256(message.bytes), publicKey: keys.sign.bytes)
    }

    package func message(as kind: LiveSignature, of conversation: ConversationID) -> CanonicalMessage {
        kind.message(
            of: conversation, from: self.from, timestamp: self.timestamp, nonce: self.sealed.nonceText,
            ciphertext: self.sealed.ciphertextText)
    }
}
