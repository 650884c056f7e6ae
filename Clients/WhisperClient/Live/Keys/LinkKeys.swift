package import Contract

/// The keys derived from a link's secret (contract §14.5, §14.7). The server never has the secret: it stores the
/// verifier, and sees the proof that a listener shows.
package struct LinkKeys: Sendable {
    /// Opens the conversation's info in the answer to `look`.
    package let infoKey: SecretBytes
    /// Proves that its sender has the link. 32 bytes.
    package let proof: [UInt8]
    private let knockKey: SecretBytes

    package init(secret: SecretBytes) {
        self.infoKey = KeyDerivation.key(of: secret, info: LiveKeyNames.info)
        self.proof = KeyDerivation.key(of: secret, info: LiveKeyNames.proof).bytes
        self.knockKey = KeyDerivation.key(of: secret, info: LiveKeyNames.knock)
    }

    /// Stored by the server, to check the proof.
    package var verifier: [UInt8] { Sodium.sha256(self.proof) }

    /// The tag of a knock: the server can make boxes, but it cannot knock in a listener's name.
    package func tag(ofKnockBy listener: PrincipalID, on conversation: ConversationID, at time: Timestamp) -> [UInt8] {
        Sodium.hmacSHA256(
            key: self.knockKey.bytes, LiveStatement.knock(by: listener, on: conversation, at: time))
    }

    package func isTag(
        _ tag: [UInt8], ofKnockBy listener: PrincipalID, on conversation: ConversationID, at time: Timestamp
    ) -> Bool {
        Sodium.areEqual(tag, self.tag(ofKnockBy: listener, on: conversation, at: time))
    }
}

/// The keys derived from a transcript share's secret (contract §14.11).
package struct ShareKeys: Sendable {
    /// Opens the line keys.
    package let sealKey: SecretBytes
    /// Proves that its sender has the share's link. 32 bytes.
    package let proof: [UInt8]

    package init(secret: SecretBytes) {
        self.sealKey = KeyDerivation.key(of: secret, info: LiveKeyNames.share)
        self.proof = KeyDerivation.key(of: secret, info: LiveKeyNames.shareProof).bytes
    }

    /// Stored by the server, to check the proof.
    package var verifier: [UInt8] { Sodium.sha256(self.proof) }
}
