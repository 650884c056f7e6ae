package import Contract
import FoundationEssentials
import GRDB

/// The only code that reads or writes `quarantine` and `quarantine_counts`: messages whose signature is not of the
/// pinned keys, as they came. They are no messages of the contact, and no message that is refused here keeps a true
/// one with the same id from being taken.
extension ClientStore {
    /// Keeps a message apart, once. The oldest go beyond `ClientLimits.quarantinedMax` and
    /// `ClientLimits.quarantinedBytesMax`; they stay counted.
    package func quarantine(
        _ message: ReceivedMessage, id: UUIDText, from sender: WhisperID, at now: Timestamp
    ) throws(ClientStoreError) {
        try self.write { database in
            let frame = String(decoding: try JSONEncoder().encode(message), as: UTF8.self)
            try database.execute(
                sql: """
                    INSERT INTO quarantine (sender, id_key, frame, came_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING
                    """,
                arguments: ["\(sender)", "\(id)".lowercased(), frame, now.milliseconds])
            guard database.changesCount == 1 else { return }
            try database.execute(
                sql: """
                    INSERT INTO quarantine_counts VALUES (?, 1) ON CONFLICT (sender) DO UPDATE SET count = count + 1
                    """,
                arguments: ["\(sender)"])
            try database.execute(
                sql: """
                    DELETE FROM quarantine WHERE number IN (
                        SELECT number FROM (
                            SELECT number, row_number() OVER latest_first AS rows,
                                sum(length(CAST(frame AS BLOB))) OVER latest_first AS bytes
                            FROM quarantine WINDOW latest_first AS (ORDER BY number DESC ROWS UNBOUNDED PRECEDING))
                        WHERE rows > ? OR bytes > ?)
                    """,
                arguments: [ClientLimits.quarantinedMax, ClientLimits.quarantinedBytesMax])
        }
    }

    /// What is kept apart, oldest first.
    package func quarantined() throws(ClientStoreError) -> [ReceivedMessage] {
        try self.read { database in
            try String.fetchAll(database, sql: "SELECT frame FROM quarantine ORDER BY number")
                .map { try JSONDecoder().decode(ReceivedMessage.self, from: Data($0.utf8)) }
        }
    }

    /// How many messages in each sender's name were ever kept apart.
    package func quarantineCounts() throws(ClientStoreError) -> [WhisperID: Int] {
        try self.read { database -> [WhisperID: Int] in
            let rows = try Row.fetchAll(database, sql: "SELECT sender, count FROM quarantine_counts")
            return rows.reduce(into: [:]) { counts, row in
                if let sender = WhisperID(row["sender"] as String) { counts[sender] = row["count"] }
            }
        }
    }
}
