package import Contract
import SQLite

/// In whose name something came that is kept apart, and why.
package struct Suspicion: Hashable, Sendable {
    package enum Reason: String, Sendable {
        /// The signature is not of the pinned keys.
        case unverified
        /// Older than the server keeps mail, by our own clock: a true message of long ago, perhaps repeated by a hostile server. It
        /// is judged again when the clock was set.
        case stale
    }

    package var sender: WhisperID
    package var reason: Reason

    package init(sender: WhisperID, reason: Reason) {
        self.sender = sender
        self.reason = reason
    }
}

/// The only code that reads or writes `quarantine` and `quarantine_counts`: suspicious messages, as they came. They are
/// no messages of the contact, and no message that is refused here keeps a true one with the same id from being taken.
extension ClientStore {
    /// Keeps a message apart, once: the payload of its `message_received`. The oldest go beyond `ClientLimits.quarantinedMax` and
    /// `ClientLimits.quarantinedBytesMax`; they stay counted.
    static func quarantine(
        _ message: [UInt8], id: UUIDText, _ suspicion: Suspicion, at now: Timestamp, in database: Database
    ) throws {
        let frame = String(decoding: message, as: UTF8.self)
        let (sender, reason) = ("\(suspicion.sender)", suspicion.reason.rawValue)
        try database.run(
            sql: """
                INSERT INTO quarantine (sender, id_key, frame, came_at, reason) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT DO NOTHING
                """,
            arguments: [sender, "\(id)".lowercased(), frame, now.milliseconds, reason])
        guard database.changesCount == 1 else { return }
        try database.run(
            sql: """
                INSERT INTO quarantine_counts VALUES (?, ?, 1)
                ON CONFLICT (sender, reason) DO UPDATE SET count = count + 1
                """,
            arguments: [sender, reason])
        try database.run(
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

    /// Quarantined mail, oldest first.
    package func quarantined() throws(ClientStoreError) -> [[UInt8]] {
        try self.read { database in
            try String.fetchAll(database, sql: "SELECT frame FROM quarantine ORDER BY number").map { Array($0.utf8) }
        }
    }

    /// Mail that is kept apart because it looked too old, oldest first.
    func staleMail() throws(ClientStoreError) -> [[UInt8]] {
        try self.read { database in
            try String.fetchAll(
                database, sql: "SELECT frame FROM quarantine WHERE reason = ? ORDER BY number",
                arguments: [Suspicion.Reason.stale.rawValue]
            ).map { Array($0.utf8) }
        }
    }

    /// These messages are no longer kept apart, nor counted: they were not too old.
    func release(_ messages: [OwedReceipt]) throws(ClientStoreError) {
        guard !messages.isEmpty else { return }
        let reason = Suspicion.Reason.stale.rawValue
        try self.write { database in
            for message in messages {
                let sender = "\(message.to)"
                try database.run(
                    sql: "DELETE FROM quarantine WHERE sender = ? AND id_key = ? AND reason = ?",
                    arguments: [sender, MessageTable.key(message.id), reason])
                guard database.changesCount == 1 else { continue }
                try database.run(
                    sql: "UPDATE quarantine_counts SET count = count - 1 WHERE sender = ? AND reason = ?",
                    arguments: [sender, reason])
                try database.run(sql: "DELETE FROM quarantine_counts WHERE count = 0")
            }
        }
    }

    /// How many messages were kept apart, and not taken later.
    package func quarantineCounts() throws(ClientStoreError) -> [Suspicion: Int] {
        try self.read { database -> [Suspicion: Int] in
            let rows = try Row.fetchAll(database, sql: "SELECT sender, reason, count FROM quarantine_counts")
            return rows.reduce(into: [:]) { counts, row in
                guard let sender = WhisperID(row["sender"] as String),
                    let reason = Suspicion.Reason(rawValue: row["reason"])
                else { return }
                counts[Suspicion(sender: sender, reason: reason)] = row["count"]
            }
        }
    }
}
