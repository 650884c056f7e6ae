package import Contract
import ServerCrypto

/// The proof of a client's session: 43 characters of base64url. Exists in memory only, on its way to the client.
package struct SessionToken: Equatable, Sendable {
    package static let randomBytes = 32

    /// The characters, as ASCII.
    package let ascii: [UInt8]

    /// - Parameter random: `randomBytes` bytes from a cryptographic generator.
    package init(random: Bytes32) {
        self.ascii = Base64.encode(random.bytes).compactMap { symbol in
            switch symbol {
            case UInt8(ascii: "+"): UInt8(ascii: "-")
            case UInt8(ascii: "/"): UInt8(ascii: "_")
            case UInt8(ascii: "="): nil
            default: symbol
            }
        }
    }

    /// A token as a client shows it.
    /// - Returns: nil if it cannot be one (contract §2, S).
    package init?(shown text: some Collection<UInt8>) {
        guard Limits.sessionTokenCharacters.contains(text.count), text.allSatisfy(Self.isSymbol) else { return nil }
        self.ascii = Array(text)
    }

    /// The form in which database and cache store the token: SHA-256 of its characters.
    package var hash: Bytes32 { SHA256.hash(self.ascii) }

    package var text: String { String(decoding: self.ascii, as: UTF8.self) }

    /// The token after this one. The same for the same nonce, so that a refresh whose answer was lost can be repeated;
    /// whoever reads the nonce in the database still needs this token to find it.
    package func successor(nonce: Bytes32) -> SessionToken {
        SessionToken(random: hmacSHA256(key: self.ascii, nonce.bytes))
    }

    private static func isSymbol(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
            true
        default: false
        }
    }
}

extension SessionToken: CustomStringConvertible, CustomReflectable {
    package var description: String { "***" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
