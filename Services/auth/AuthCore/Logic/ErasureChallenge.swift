package import ClusterContract
package import Contract
import ServerCrypto

/// The challenge of an erasure, as it waits in Redis for its signature (contract §20.2). The first read removes it.
package struct ErasureChallenge: Equatable, Sendable {
    package static let randomBytes = Limits.challengeBytes - AccountDeleteChallenge.prefix.count

    package let id: UUIDText
    package let bytes: Bytes32
    package let node: NodeID
    package let connection: ConnectionID
    package let epoch: Epoch

    /// - Parameter random: `randomBytes` bytes from a cryptographic generator.
    package init(for caller: Caller, id: UUIDText, node: NodeID, connection: ConnectionID, random: [UInt8]) {
        precondition(random.count == Self.randomBytes)
        self.id = id
        self.bytes = Bytes32(AccountDeleteChallenge.prefix + random)!
        self.node = node
        self.connection = connection
        self.epoch = caller.epoch
    }

    /// Why a signature does not erase. Clients hear AUTH_FAILED whichever it is.
    package enum Fault: String, Error, CaseIterable, Sendable {
        case otherChallenge
        /// The challenge was given to another connection, or to an earlier login.
        case foreignConnection
        case badSignature
    }

    /// Whether `frame` answers this challenge. The identity that it names is the session's.
    package func check(
        _ frame: AccountDelete, of session: Session, node: NodeID, connection: ConnectionID
    ) throws(Fault) {
        guard frame.challengeID == self.id else { throw .otherChallenge }
        guard node == self.node, connection == self.connection, session.caller.epoch == self.epoch else {
            throw .foreignConnection
        }
        let statement = AccountDelete.statement(
            challengeID: frame.challengeID, whisperID: frame.whisperID, sentMail: frame.sentMail,
            challenge: self.bytes.bytes)
        guard Signatures.isValid(frame.signature, over: SHA256.hash(statement), by: session.signPublicKey) else {
            throw .badSignature
        }
    }
}

extension ErasureChallenge: WireCodable {
    package func encode(into writer: inout WireWriter) {
        writer.write(self.id)
        writer.write(self.bytes)
        writer.write(self.node)
        writer.write(self.connection)
        writer.write(self.epoch)
    }

    package init(from reader: inout WireReader) throws(WireError) {
        self.id = try reader.read()
        self.bytes = try reader.read()
        self.node = try reader.read()
        self.connection = try reader.read()
        self.epoch = try reader.read()
    }
}
