/// The id of a live conversation: a UUID in lower case (contract §14.2).
///
/// It is a digest of the conversation's public keys, so a link that names it vouches for them. Its version and variant
/// bits are whatever the digest has.
package struct ConversationID: Hashable, Sendable {
    package let uuid: UUIDText

    /// Reads the shown form exactly; no other spelling is an id.
    package init?<C: Collection<UInt8>>(ascii text: C) {
        guard let uuid = UUIDText(ascii: text), uuid.upperCase == 0 else { return nil }
        self.uuid = uuid
    }

    package init?(_ text: String) { self.init(ascii: text.utf8) }

    package init(high: UInt64, low: UInt64) { self.uuid = UUIDText(high: high, low: low) }
}

extension ConversationID: CustomStringConvertible {
    package var description: String { self.uuid.description }
}

extension ConversationID {
    /// The id that belongs to a conversation's public keys (contract §14.2).
    /// - Parameter sha256: SHA-256, 32 bytes.
    package static func derived(
        signPublicKey: [UInt8], encPublicKey: [UInt8], sha256: ([UInt8]) -> [UInt8]
    ) -> ConversationID {
        let words = DigestWords(sha256(Array("whisper-live\n".utf8) + signPublicKey + encPublicKey))
        return ConversationID(high: words.high, low: words.low)
    }
}
