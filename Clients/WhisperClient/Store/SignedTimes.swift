package import Contract
import SQLite

/// The times that our messages and changes are signed with.
///
/// A message that is sent again carries the time of the attempt before. The server looks up by that time whether it has
/// taken the message already (contract §3, step 7). Mostly it is the time of writing, so it needs no row of its own.
extension ClientStore {
    static func migrateSignedTimes(_ database: Database) throws {
        // NULL: the time of writing; 0: none yet.
        try database.execute(
            sql: """
                ALTER TABLE messages ADD COLUMN signed_at INTEGER;
                ALTER TABLE outgoing_changes ADD COLUMN signed_at INTEGER NOT NULL DEFAULT 0;
                """)
    }

    /// The next attempt, and all that follow it, carry this time.
    package func noteSigned(_ id: UUIDText, at time: Timestamp) throws(ClientStoreError) {
        try self.setSignedTime(of: id, to: time.milliseconds)
    }

    /// The server has not taken it under the time of its signature, and never will: it is signed anew.
    package func forgetSignedTime(of id: UUIDText) throws(ClientStoreError) {
        try self.setSignedTime(of: id, to: 0)
    }

    private func setSignedTime(of id: UUIDText, to milliseconds: Int64) throws(ClientStoreError) {
        try self.write { database in
            for sql in [
                "UPDATE messages SET signed_at = ? WHERE is_outgoing AND id_key = ?",
                "UPDATE outgoing_changes SET signed_at = ? WHERE id_key = ?",
            ] {
                try database.run(sql: sql, arguments: [milliseconds, MessageTable.key(id)])
            }
        }
    }
}
