/// The links of an invitation (contract §20.6), as those write them who know the server's address for people.
package struct InvitationLinks: Equatable, Sendable {
    /// For a program that has Whisper.
    package let app: String
    /// For a browser. Its page draws the link as a QR code, too.
    package let web: String

    /// - Parameter host: as `chat.example.org` or `chat.example.org:8443`.
    /// - Returns: nil if that is no address.
    package init?(_ token: String, host: String) {
        guard Self.isAddress(host) else { return nil }
        self.app = "whisper://invite/\(host)#\(token)"
        self.web = "https://\(host)/invite#\(token)"
    }

    /// Characters of a host's name (RFC 1035), and of a port.
    package static let hostCharactersMax = 253 + 6

    /// A name or an IP address, IPv6 in brackets, and perhaps a port.
    package static func isAddress(_ text: String) -> Bool {
        let isBracketed = text.hasPrefix("[")
        guard
            let end = isBracketed
                ? text.firstIndex(of: "]").map({ text.index(after: $0) }) : text.firstIndex(of: ":") ?? text.endIndex
        else { return false }
        let name = isBracketed ? text[..<end].dropFirst().dropLast() : text[..<end]
        let port = text[end...]
        let isNamed = name.utf8.allSatisfy { byte in
            Self.letters.contains(byte) || isBracketed && byte == UInt8(ascii: ":")
        }
        let digits = port.dropFirst().utf8
        let isPort = port.hasPrefix(":") && (1...5).contains(digits.count) && digits.allSatisfy(Self.digits.contains)
        return !name.isEmpty && text.utf8.count <= Self.hostCharactersMax && isNamed && (port.isEmpty || isPort)
    }

    private static let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
    private static let letters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-".utf8)
}
