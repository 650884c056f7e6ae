package import ClusterContract
package import Contract
import ServerCrypto

/// A guest's challenge that was given out, as it waits in Redis for its proof. The first read removes it.
package struct ProofChallenge: Equatable, Sendable {
    /// Before the random half. Guests sign 32-byte digests with the same key: the prefix keeps a challenge from being one
    /// of those, or a login's (contract §14.3).
    package static let prefix = Array("whisper-guest-v1".utf8)
    package static let randomBytes = Limits.challengeBytes - prefix.count

    /// The 32 bytes to sign.
    package let bytes: Bytes32
    package let node: NodeID
    package let connection: ConnectionID
    package let signPublicKey: Bytes32
    package let encPublicKey: Bytes32
    /// The end that the client is told. The challenge itself ends when its Redis key expires.
    package let expiresAt: Timestamp

    /// - Parameter random: `randomBytes` bytes from a cryptographic generator.
    package init(
        for begin: GuestBegin, node: NodeID, connection: ConnectionID, random: [UInt8], at now: Timestamp
    ) {
        precondition(random.count == Self.randomBytes)
        self.bytes = Bytes32(Self.prefix + random)!
        self.node = node
        self.connection = connection
        self.signPublicKey = begin.signPublicKey
        self.encPublicKey = begin.encPublicKey
        self.expiresAt = now + Limits.challengeTTL
    }

    /// Why a proof is not one. Clients hear AUTH_FAILED whichever it is.
    package enum Fault: String, Error, CaseIterable, Sendable {
        /// The challenge was given to another connection.
        case foreignConnection
        /// A key of small order, in another than its canonical form, or no key at all.
        case unusableKey
        case badSignature
    }

    /// Whether `proof` answers this challenge.
    package func check(_ proof: GuestProof, node: NodeID, connection: ConnectionID) throws(Fault) {
        guard node == self.node, connection == self.connection else { throw .foreignConnection }
        guard Signatures.isUsableSignKey(self.signPublicKey), Signatures.isUsableEncKey(self.encPublicKey) else {
            throw .unusableKey
        }
        guard Signatures.isValid(proof.signature, over: self.bytes.bytes, by: self.signPublicKey) else {
            throw .badSignature
        }
    }

    /// The guest that has these keys.
    package var guest: GuestID {
        .derived(signPublicKey: self.signPublicKey.bytes, encPublicKey: self.encPublicKey.bytes) {
            SHA256.hash($0).bytes
        }
    }
}

extension ProofChallenge: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.bytes)
        writer.write(self.node)
        writer.write(self.connection)
        writer.write(self.signPublicKey)
        writer.write(self.encPublicKey)
        writer.write(self.expiresAt)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.bytes = try reader.read()
        // A login's challenge is none of a guest.
        guard self.bytes.bytes.starts(with: Self.prefix) else { throw .malformed }
        self.node = try reader.read()
        self.connection = try reader.read()
        self.signPublicKey = try reader.read()
        self.encPublicKey = try reader.read()
        self.expiresAt = try reader.read()
    }
}
