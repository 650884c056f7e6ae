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
    /// The class of rates that operators have given to the identity (contract §20.7).
    package var rateClass: RateClassName?

    package init(
        caller: Caller, device: UUIDText, platform: Platform, tokenHash: Bytes32, expiresAt: Timestamp,
        signPublicKey: Bytes32, isBanned: Bool,
        rateClass: RateClassName? = nil
    ) {
        self.caller = caller
        self.device = device
        self.platform = platform
        self.tokenHash = tokenHash
        self.expiresAt = expiresAt
        self.signPublicKey = signPublicKey
        self.isBanned = isBanned
        self.rateClass = rateClass
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
        // A session without a class looks as in releases that know none. They take no other one, and ask auth or refuse.
        guard let rateClass = self.rateClass else { return writer.write(self.isBanned) }
        writer.write(self.isBanned ? Self.bannedWithClass : Self.liveWithClass)
        writer.write(rateClass)
    }

    private static var liveWithClass: UInt8 { 2 }
    private static var bannedWithClass: UInt8 { 3 }

    package init(from reader: inout WireReader) throws(WireError) {
        self.caller = try reader.read()
        self.device = try reader.read()
        self.platform = try reader.read()
        self.tokenHash = try reader.read()
        self.expiresAt = try reader.read()
        self.signPublicKey = try reader.read()
        let state: UInt8 = try reader.read()
        guard state <= Self.bannedWithClass else { throw .malformed }
        self.isBanned = state % 2 == 1
        self.rateClass = state >= Self.liveWithClass ? try reader.read() : nil
    }
}
