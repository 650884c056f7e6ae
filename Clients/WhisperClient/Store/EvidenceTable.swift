package import Contract
import FoundationEssentials
import SQLite

/// A message as its sender has signed it. The operators can check whose it is, and cannot read it.
package struct Evidence: Sendable, Equatable {
    package var sealed: SealedMessage
    /// `text`, `image`, …: the sender's word, which the signature does not cover.
    package var messageType: String
}

/// The only code that reads or writes `evidence`: the latest messages of each sender as they came, for a report.
///
/// It goes with its message: when that is cleared here, or deleted by its author.
extension ClientStore {
    static func migrateEvidence(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE evidence (
                    message INTEGER PRIMARY KEY, sender TEXT NOT NULL, group_id TEXT, type TEXT NOT NULL,
                    nonce BLOB NOT NULL, ciphertext BLOB NOT NULL, signature BLOB NOT NULL);
                CREATE INDEX evidence_sender ON evidence (sender, message);
                """)
    }

    /// - Parameter number: of the message.
    static func keep(_ evidence: Evidence, of number: Int64, in database: Database) throws {
        let sealed = evidence.sealed
        guard let nonce = Base64.decode(sealed.nonce), let ciphertext = Base64.decode(sealed.ciphertext),
            let signature = Base64.decode(sealed.signature)
        else { return }
        try database.run(
            sql: "INSERT INTO evidence VALUES (?, ?, ?, ?, ?, ?, ?)",
            arguments: [
                number, sealed.from, sealed.groupID, evidence.messageType, nonce, ciphertext,
                signature,
            ])
    }

    /// Drops what is beyond the bounds: of these senders, then of all.
    static func dropOldEvidence(of senders: Set<String>, in database: Database) throws {
        guard !senders.isEmpty else { return }
        for sender in senders {
            try database.run(
                sql: """
                    DELETE FROM evidence WHERE sender = ?1 AND message <= (
                        SELECT message FROM evidence WHERE sender = ?1 ORDER BY message DESC LIMIT 1 OFFSET ?2)
                    """, arguments: [sender, ClientLimits.evidencePerSenderMax])
        }
        try database.run(
            sql: """
                DELETE FROM evidence WHERE message <= (
                    SELECT message FROM evidence ORDER BY message DESC LIMIT 1 OFFSET ?)
                """, arguments: [ClientLimits.evidenceMax])
    }

    static func dropEvidence(of number: Int64, in database: Database) throws {
        try database.run(sql: "DELETE FROM evidence WHERE message = ?", arguments: [number])
    }

    /// - Parameter own: the id that the message was sent to.
    /// - Returns: nil if this message is not here, or is too old.
    package func evidence(
        of id: UUIDText, from sender: WhisperID, to own: WhisperID
    ) throws(ClientStoreError) -> Evidence? {
        try self.read { database in
            let sql = """
                SELECT messages.id, messages.time, evidence.* FROM messages JOIN evidence ON message = number
                WHERE peer = ? AND NOT is_outgoing AND id_key = ?
                """
            guard let row = try Row.fetchOne(database, sql: sql, arguments: ["\(sender)", MessageTable.key(id)]) else {
                return nil
            }
            func base64(_ column: String) -> String {
                String(decoding: Base64.encode(row[column] as [UInt8]), as: UTF8.self)
            }
            return Evidence(
                sealed: SealedMessage(
                    messageID: row["id"], from: row["sender"], to: "\(own)", groupID: row["group_id"],
                    timestamp: row["time"], nonce: base64("nonce"), ciphertext: base64("ciphertext"),
                    signature: base64("signature")),
                messageType: row["type"])
        }
    }
}
