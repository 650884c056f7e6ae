package import Contract

/// A push provider says that a token is nobody's any more. On `Keyspace.rejectedTokens`: push tells auth, whose table it
/// is. The token itself does not travel.
package struct RejectedToken: Job, Equatable {
    package enum Kind: UInt8, Sendable {
        case push = 1
        case voip = 2
    }

    package var identity: WhisperID
    package var kind: Kind
    /// SHA-256 of the token's UTF-8.
    package var tokenHash: Bytes32
    /// Tokens that the device has reported since then are newer than the provider's answer, and stay.
    package var asOf: Timestamp

    package init(identity: WhisperID, kind: Kind, tokenHash: Bytes32, asOf: Timestamp) {
        self.identity = identity
        self.kind = kind
        self.tokenHash = tokenHash
        self.asOf = asOf
    }

    package func encode(into writer: inout WireWriter) {
        writer.write(self.identity)
        writer.write(self.kind.rawValue)
        writer.write(self.tokenHash)
        writer.write(self.asOf)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.identity = try reader.read()
        let kind: UInt8 = try reader.read()
        guard let kind = Kind(rawValue: kind) else { throw .unknown(kind) }
        self.kind = kind
        self.tokenHash = try reader.read()
        self.asOf = try reader.read()
    }
}
