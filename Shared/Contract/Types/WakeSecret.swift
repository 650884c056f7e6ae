/// A secret of an app and its server, so that a push names its identity to the app and to nobody else (contract §4): 16 random bytes.
package struct WakeSecret: Equatable, Sendable {
    package static let byteCount = 16
    private static let tagBytes = 8

    package let bytes: [UInt8]

    /// - Returns: nil if these are not 16 bytes.
    package init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    /// The word in a push for this identity. It is another one with each wake id.
    /// - Parameter hmacSHA256: HMAC-SHA-256 of a key and a message.
    package func tag<Code: Sequence<UInt8>>(of wakeID: UUIDText, hmacSHA256: ([UInt8], [UInt8]) -> Code) -> String {
        let lowerCase = UUIDText(high: wakeID.high, low: wakeID.low)
        let code = hmacSHA256(self.bytes, Array("whisper/wake\n\(lowerCase)".utf8))
        return Base64URL.encode(Array(code.prefix(Self.tagBytes)))
    }
}

extension WakeSecret: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { "***" }
    package var debugDescription: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
