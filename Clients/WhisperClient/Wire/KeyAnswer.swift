package import Contract
import FoundationEssentials

/// The answer of `GET /users/{whisperId}/keys`.
package struct KeyAnswer: Sendable, Equatable {
    package var id: WhisperID
    package var keys: PublicKeys
    /// A banned identity can be read, not written to.
    package var isBanned: Bool

    /// - Returns: `nil` if the body is not what the contract promises.
    package init?(body: [UInt8]) {
        guard let raw = try? JSONDecoder().decode(Raw.self, from: Data(body)),
            let id = WhisperID(raw.whisperId),
            let sign = Base64.decode(raw.signPublicKey).flatMap({ Bytes32($0) }),
            let box = Base64.decode(raw.encPublicKey).flatMap({ Bytes32($0) })
        else { return nil }
        self.id = id
        self.keys = PublicKeys(sign: sign, box: box)
        self.isBanned = raw.status == "banned"
    }

    private struct Raw: Decodable {
        var whisperId: String
        var encPublicKey: String
        var signPublicKey: String
        var status: String
    }
}
