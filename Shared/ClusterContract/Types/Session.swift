package import Contract

/// The session behind a session token. Only the client keeps the token itself.
package struct Session: Hashable, Sendable {
    package var caller: Caller
    package var device: UUIDText
    package var platform: Platform
    /// SHA-256 of the token.
    package var tokenHash: Bytes32
    package var expiresAt: Timestamp
    /// The identity's Ed25519 key: what it signs is checked with this. Keys never change.
    package var signPublicKey: Bytes32
    package var isBanned: Bool

    package init(
        caller: Caller, device: UUIDText, platform: Platform, tokenHash: Bytes32, expiresAt: Timestamp,
        signPublicKey: Bytes32, isBanned: Bool
    ) {
        self.caller = caller
        self.device = device
        self.platform = platform
        self.tokenHash = tokenHash
        self.expiresAt = expiresAt
        self.signPublicKey = signPublicKey
        self.isBanned = isBanned
    }
}

extension Session: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.caller)
        writer.write(self.device)
        writer.write(self.platform)
        writer.write(self.tokenHash)
        writer.write(self.expiresAt)
        writer.write(self.signPublicKey)
        writer.write(self.isBanned)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.caller = try reader.read()
        self.device = try reader.read()
        self.platform = try reader.read()
        self.tokenHash = try reader.read()
        self.expiresAt = try reader.read()
        self.signPublicKey = try reader.read()
        self.isBanned = try reader.readBool()
    }
}
