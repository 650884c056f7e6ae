import Contract
import FoundationEssentials

/// The bodies of `PUT` and `GET /backup/contacts` (spec §14.2).
extension SealedContacts {
    package static let path = "/backup/contacts"

    /// - Returns: `nil` if the body is not what the contract promises.
    package init?(body: [UInt8]) {
        guard let raw = try? JSONDecoder().decode(Body.self, from: Data(body)),
            let nonce = Base64.decode(raw.nonce), let ciphertext = Base64.decode(raw.ciphertext)
        else { return nil }
        self.init(nonce: nonce, ciphertext: ciphertext)
    }

    package var body: [UInt8] {
        func text(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        // Our own plain values: encoding them cannot fail.
        return try! Array(
            encoder.encode(
                Body(protocolVersion: 1, cryptoVersion: 1, nonce: text(self.nonce), ciphertext: text(self.ciphertext))))
    }

    private struct Body: Codable {
        /// In requests only.
        var protocolVersion: Int?
        var cryptoVersion: Int?
        var nonce: String
        var ciphertext: String
    }
}
