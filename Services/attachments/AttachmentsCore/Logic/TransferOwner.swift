package import Contract
import ServerCrypto
package import Telemetry

/// A tag for the owner of an upload or download that names nobody: it is a part of URLs, which travel and are kept by
/// others.
package struct TransferOwner: Hashable, Sendable, CustomStringConvertible {
    private static let bytesCount = 8
    /// 16 hexadecimal digits.
    package let description: String

    /// - Parameter secret: that of the URLs. Without it nobody can tell whose tag it is.
    package init(_ identity: WhisperID, secret: Secret) {
        let code = hmacSHA256(key: Array(secret.revealed.utf8), Array("whisper-blob-owner\n\(identity)".utf8))
        self.description = Hexadecimal.text(Array(code.bytes.prefix(Self.bytesCount)))
    }

    /// Reads one back.
    package init?(_ text: some StringProtocol) {
        guard text.utf8.count == 2 * Self.bytesCount, let bytes = Hexadecimal.bytes(text) else { return nil }
        self.description = Hexadecimal.text(bytes)
    }
}
