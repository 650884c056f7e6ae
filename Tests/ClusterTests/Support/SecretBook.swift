import Foundation
import Synchronization
import TestKit

/// Everything that a script has said or heard and no log may know, and the search for it.
final class SecretBook: Sendable {
    /// Each secret's name, and a text that would reveal it.
    private let entries = Mutex<[(name: String, text: String)]>([])

    /// Shorter texts could stand anywhere.
    private static let lengthMin = 12

    var count: Int { self.entries.withLock { $0.count } }

    func note(_ name: String, _ text: String?) {
        guard let text else { return }
        precondition(text.utf8.count >= Self.lengthMin, "\(name) is too short to be searched for")
        self.entries.withLock { $0.append((name, text)) }
        if let bytes = text.bytesOfBase64, text.utf8.count % 4 == 0 { self.note(name, bytes: bytes) }
    }

    /// As base64 of either kind, and as hexadecimal.
    func note(_ name: String, bytes: [UInt8]) {
        let base64 = bytes.base64
        let urlSafe = base64.replacing("+", with: "-").replacing("/", with: "_")
        let hex = bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
        self.entries.withLock {
            for text in [base64, urlSafe, hex, hex.uppercased(), "\(bytes)"] {
                $0.append((name, String(text.prefix { $0 != "=" })))
            }
        }
    }

    /// The members of a message that nobody but its recipient may see.
    func note(_ name: String, message: Fields) {
        for member in ["nonce", "ciphertext", "sig"] { self.note("\(name) \(member)", message[member]?.json.string) }
    }

    /// The names of secrets that stand in a text, with the line that shows each. A part of one is as bad.
    func leaks(in text: String) -> [String] {
        self.entries.withLock { entries in
            entries.compactMap { name, secret in
                guard let place = text.range(of: String(secret.prefix(Self.prefixLooked))) else { return nil }
                return "\(name): \(text[text.lineRange(for: place)].prefix(400))"
            }
        }
    }

    /// Long secrets may be cut off.
    private static let prefixLooked = 24
}
