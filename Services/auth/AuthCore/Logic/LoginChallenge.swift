package import ClusterContract
package import Contract
import ServerCrypto

/// A challenge that was given out, as it waits in Redis for its proof. The first read removes it.
package struct LoginChallenge: Equatable, Sendable {
    /// Before the random half. Messages are signed over 32-byte digests with the same key: the prefix keeps a challenge
    /// from being one, and clients refuse a challenge without it (contract §4).
    package static let prefix = Array("whisper-register".utf8)
    package static let randomBytes = Limits.challengeBytes - prefix.count

    /// The 32 bytes to sign.
    package let bytes: Bytes32
    package let node: NodeID
    package let connection: ConnectionID
    package let device: UUIDText
    package let platform: Platform
    /// The identity that the client said it is.
    package let whisperID: WhisperID?
    /// The end that the client is told. The challenge itself ends when its Redis key expires: the process that checks a
    /// proof may have another clock than the one that gave the challenge out.
    package let expiresAt: Timestamp

    /// - Parameter random: `randomBytes` bytes from a cryptographic generator.
    package init(
        for begin: RegisterBegin, node: NodeID, connection: ConnectionID, random: [UInt8], at now: Timestamp
    ) {
        precondition(random.count == Self.randomBytes)
        self.bytes = Bytes32(Self.prefix + random)!
        self.node = node
        self.connection = connection
        self.device = begin.deviceID
        self.platform = begin.platform
        self.whisperID = begin.whisperID
        self.expiresAt = now + Limits.challengeTTL
    }

    /// Why a proof is not one. Clients hear AUTH_FAILED whichever it is.
    package enum Fault: String, Error, CaseIterable, Sendable {
        /// The challenge was given to another connection.
        case foreignConnection
        case otherDevice
        case otherPlatform
        /// Begun for one identity, proved for another.
        case otherIdentity
        /// A key of small order, in another than its canonical form, or no key at all. Known identities are refused
        /// as well: nobody registered with such a key unless by intent, because clients derive keys in canonical
        /// form.
        case unusableKey
        case badSignature
    }

    /// Whether `proof` answers this challenge. `IdentityClaim` decides which identity has the keys.
    package func check(
        _ proof: RegisterProof, node: NodeID, connection: ConnectionID
    ) throws(Fault) {
        guard node == self.node, connection == self.connection else { throw .foreignConnection }
        guard proof.deviceID == self.device else { throw .otherDevice }
        guard proof.platform == self.platform else { throw .otherPlatform }
        guard self.whisperID == nil || proof.whisperID == self.whisperID else { throw .otherIdentity }
        guard Signatures.isUsableSignKey(proof.signPublicKey), Signatures.isUsableEncKey(proof.encPublicKey) else {
            throw .unusableKey
        }
        guard Signatures.isValid(proof.signature, over: self.bytes.bytes, by: proof.signPublicKey) else {
            throw .badSignature
        }
    }
}

extension LoginChallenge: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.bytes)
        writer.write(self.node)
        writer.write(self.connection)
        writer.write(self.device)
        writer.write(self.platform)
        writer.write(self.whisperID)
        writer.write(self.expiresAt)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.bytes = try reader.read()
        self.node = try reader.read()
        self.connection = try reader.read()
        self.device = try reader.read()
        self.platform = try reader.read()
        self.whisperID = try reader.readOptional()
        self.expiresAt = try reader.read()
    }
}
