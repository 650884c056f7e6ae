package import Contract
import FoundationEssentials

/// An opened document that the devices of a profile share under one name.
package struct ProfileDocument: Sendable, Equatable {
    package var name: ProfileDocumentName
    /// The server's count of its writes.
    package var version: Int64
    package var updatedAt: Timestamp
    package var content: String
}

/// Version and counter of a document when this device last saw it. An older document is rejected.
struct SeenDocument: Equatable, Sendable {
    var version: Int64
    /// Grows with each write. It is sealed with the content: the server cannot change it.
    var counter: Int64

    /// Whether this document can be the seen one, or a later one.
    func canFollow(_ seen: SeenDocument) -> Bool { self.counter > seen.counter || self == seen }
}

/// The text under the seal of a document.
struct DocumentText: Codable, Equatable, Sendable {
    var counter: Int64
    var content: String

    /// - Returns: the text as the server stores it.
    func sealed(as name: ProfileDocumentName, of profile: UUIDText, key: SecretBytes, nonce: [UInt8]) -> SealedBytes {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
        // Our own plain values: encoding them cannot fail.
        let text = try! Array(encoder.encode(self))
        return SealedBytes(text, key: key, nonce: nonce, vouchingFor: Self.place(name, profile))
    }

    /// - Returns: `nil` if another key sealed it, it is another document, or this release cannot read it.
    init?(_ sealed: SealedBytes, as name: ProfileDocumentName, of profile: UUIDText, key: SecretBytes) {
        guard let text = sealed.open(key: key, vouchingFor: Self.place(name, profile)),
            let read = try? JSONDecoder().decode(Self.self, from: Data(text)), read.counter > 0
        else { return nil }
        self = read
    }

    init(counter: Int64, content: String) {
        self.counter = counter
        self.content = content
    }

    private static func place(_ name: ProfileDocumentName, _ profile: UUIDText) -> [UInt8] {
        Array("v1\nprofile\n\(profile)\n\(name.rawValue)\n".utf8)
    }
}

/// Bodies of `PUT` and `GET /profiles/{profileId}/documents/{name}` (contract §14.4).
enum DocumentBody {
    static func encode(_ sealed: SealedBytes) -> [UInt8] {
        struct Body: Encodable {
            var protocolVersion = Version.protocolVersion
            var cryptoVersion = Version.cryptoVersion
            var nonce: String
            var ciphertext: String
        }
        let encoder = JSONEncoder()
        // Escaped slashes would make the Base64 longer than the server accepts.
        encoder.outputFormatting = .withoutEscapingSlashes
        // Our own plain values: encoding them cannot fail.
        return try! Array(encoder.encode(Body(nonce: sealed.nonceText, ciphertext: sealed.ciphertextText)))
    }

    struct Written: Decodable {
        var version: Int64
        var updatedAt: Int64
    }

    static func written(_ body: [UInt8]) -> Written? {
        guard let read = try? JSONDecoder().decode(Written.self, from: Data(body)), read.version > 0 else { return nil }
        return read
    }

    struct Read {
        var sealed: SealedBytes
        var written: Written
    }

    static func read(_ body: [UInt8]) -> Read? {
        struct Body: Decodable {
            var nonce: String
            var ciphertext: String
        }
        guard let written = self.written(body), let raw = try? JSONDecoder().decode(Body.self, from: Data(body)),
            let nonce = Base64.decode(raw.nonce), let ciphertext = Base64.decode(raw.ciphertext)
        else { return nil }
        return Read(sealed: SealedBytes(nonce: nonce, ciphertext: ciphertext), written: written)
    }
}
