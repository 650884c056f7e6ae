import Contract

/// Frames about live conversations, built from the keys that they show.
extension LiveCreate {
    /// - Parameter info: signed with the conversation's key.
    init(_ keys: ConversationKeys, link: LinkKeys, profile: UUIDText, transcriptDays: Int, info: LiveSigned) {
        self.init(
            keys.id, of: profile, signPublicKey: keys.publicKeys.sign, encPublicKey: keys.publicKeys.box,
            linkVerifier: Bytes32(link.verifier)!, transcriptDays: transcriptDays, info: info)
    }
}

extension LiveKnock {
    /// - Parameters:
    ///   - keys: of the listener.
    ///   - knock: signed with the listener's own key.
    init(_ conversation: ConversationID, link: LinkKeys, keys: PublicKeys, knock: LiveSigned) {
        self.init(
            conversation, linkProof: Bytes32(link.proof)!, signPublicKey: keys.sign, encPublicKey: keys.box,
            knock: knock)
    }
}

extension LiveJoin {
    init(_ conversation: ConversationID, after: ListenerMachine.After?) {
        let point = after.map { LivePoint(content: $0.content, position: $0.position, line: $0.line) }
        self.init(conversation, after: point)
    }
}

extension SendLivePacket {
    init(_ header: LivePacketHeader, _ sealed: SealedBytes) {
        self.init(LivePacket(header: header, nonce: sealed.nonce, ciphertext: sealed.ciphertext))
    }
}
