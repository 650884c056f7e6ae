package import Contract

/// The guest behind a guest token. Only the browser keeps the token itself.
package struct Guest: Hashable, Sendable {
    package var id: GuestID
    /// Counts the guest's proofs. The token of the newest one is the only live one.
    package var epoch: Epoch
    /// SHA-256 of the token.
    package var tokenHash: Bytes32
    package var expiresAt: Timestamp
    /// The guest's Ed25519 key. Keys never change: the id is made from them.
    package var signPublicKey: Bytes32
    package var isBanned: Bool

    package init(
        id: GuestID, epoch: Epoch, tokenHash: Bytes32, expiresAt: Timestamp, signPublicKey: Bytes32, isBanned: Bool
    ) {
        self.id = id
        self.epoch = epoch
        self.tokenHash = tokenHash
        self.expiresAt = expiresAt
        self.signPublicKey = signPublicKey
        self.isBanned = isBanned
    }
}

extension Guest: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.id)
        writer.write(self.epoch)
        writer.write(self.tokenHash)
        writer.write(self.expiresAt)
        writer.write(self.signPublicKey)
        writer.write(self.isBanned)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.id = try reader.read()
        self.epoch = try reader.read()
        self.tokenHash = try reader.read()
        self.expiresAt = try reader.read()
        self.signPublicKey = try reader.read()
        self.isBanned = try reader.readBool()
    }
}
