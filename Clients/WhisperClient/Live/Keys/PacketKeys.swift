package import Contract

/// Opens the packets of one conversation for a listener: holds its content keys, and the public keys that verify its
/// lines.
package struct PacketKeys: Sendable {
    private let conversation: ConversationID
    private let publicKeys: PublicKeys
    /// The newest generations, by number.
    private var contentKeys: [Int: ContentKey] = [:]

    /// Older generations are forgotten: every gateway drops their packets. Lines requested again may need the last few.
    private static let generationsMax = 16

    /// - Parameter publicKeys: checked against the conversation's id already.
    package init(conversation: ConversationID, publicKeys: PublicKeys) {
        self.conversation = conversation
        self.publicKeys = publicKeys
    }

    package mutating func add(_ key: ContentKey) {
        self.contentKeys[key.generation] = key
        if self.contentKeys.count > Self.generationsMax, let oldest = self.contentKeys.keys.min() {
            self.contentKeys[oldest] = nil
        }
    }

    /// - Parameter content: the stream that the listener follows. A line of another stream is not verified.
    package func open(
        _ sealed: SealedBytes, as header: LivePacketHeader, content: UUIDText
    )
        -> ListenerMachine.Opened
    {
        guard let key = self.contentKeys[header.generation] else { return .keyMissing }
        guard header.conversation == self.conversation, let bytes = key.open(sealed, as: header),
            let plaintext = PacketPlaintext(bytes, kind: header.kind)
        else { return .unreadable }
        guard case .line(let text) = plaintext.content else { return .content(plaintext.content) }
        guard let signature = plaintext.signature,
            self.publicKeys.signed(
                line: header.line, text: text.string, of: self.conversation, content: content, signature: signature)
        else { return .unreadable }
        return .content(plaintext.content)
    }
}

extension ConversationKeys {
    /// Seals a whisperer's packet, and signs it if it is a line.
    /// - Parameter nonce: 12 fresh random bytes.
    package func seal(_ packet: WhispererMachine.Packet, content: UUIDText, nonce: [UInt8]) -> SealedBytes {
        self.seal(
            packet, content: content, with: self.contentKey(generation: packet.header.generation), nonce: nonce)
    }

    /// The same with a content key that the caller already has.
    package func seal(
        _ packet: WhispererMachine.Packet, content: UUIDText, with key: ContentKey, nonce: [UInt8]
    ) -> SealedBytes {
        var plaintext = PacketPlaintext(packet.content)
        if case .line(let text) = packet.content {
            plaintext.signature = self.sign(line: packet.header.line, text: text.string, content: content)
        }
        return key.seal(plaintext.bytes, as: packet.header, nonce: nonce)
    }
}
