/// The text that lets somebody new register (contract §20.1): 16 random bytes. The server keeps its SHA-256 only.
package struct InvitationToken: Hashable, Sendable {
    package static let characters = 22...22
    package static let byteCount = 16

    package let bytes: [UInt8]

    /// A command takes its text for an option if it begins with `-`, so the first bit is turned there.
    /// - Parameter random: `byteCount` bytes.
    package init(random: [UInt8]) {
        precondition(random.count == Self.byteCount, "an invitation's token has another length")
        var bytes = random
        if bytes[0] >> 2 == 0b11_1110 { bytes[0] ^= 0x80 }
        self.bytes = bytes
    }

    /// Reads the shown form exactly.
    package init?(_ text: some StringProtocol) {
        guard let bytes = Base64URL.decode(text), bytes.count == Self.byteCount else { return nil }
        self.bytes = bytes
    }

    package var text: String { Base64URL.encode(self.bytes) }
}
