package import Contract
import SQLite

/// A line of the history that is no message: somebody has set how long new messages are kept.
package struct ChatNote: Sendable, Equatable {
    /// Number of the latest message that was here before. The note stands behind it.
    package var place: Int64
    /// By the clock of the person.
    package var time: Timestamp
    package var person: WhisperID
    /// 0: new messages stay.
    package var seconds: Int64

    package init(place: Int64, time: Timestamp, person: WhisperID, seconds: Int64) {
        (self.place, self.time, self.person, self.seconds) = (place, time, person, seconds)
    }
}

/// The only code that reads or writes `chat_notes`.
enum ChatNoteTable {
    static func migrate(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE chat_notes (
                    number INTEGER PRIMARY KEY AUTOINCREMENT, chat TEXT NOT NULL, place INTEGER NOT NULL,
                    time INTEGER NOT NULL, person TEXT NOT NULL, seconds INTEGER NOT NULL);
                CREATE INDEX chat_notes_chat ON chat_notes (chat, place);
                """)
    }

    /// Keeps the latest `ClientLimits.chatNotesMax` of a chat.
    static func note(_ timer: ChatTimer, by person: WhisperID, in place: Conversation, in database: Database) throws {
        try database.run(
            sql: """
                INSERT INTO chat_notes (chat, place, time, person, seconds)
                VALUES (?, (SELECT coalesce(max(number), 0) FROM messages), ?, ?, ?)
                """, arguments: [place.name, timer.revision.time, "\(person)", timer.seconds])
        try database.run(
            sql: """
                DELETE FROM chat_notes WHERE number IN (
                    SELECT number FROM chat_notes WHERE chat = ? ORDER BY number DESC LIMIT -1 OFFSET ?)
                """, arguments: [place.name, ClientLimits.chatNotesMax])
    }

    /// Forgets notes up to a message, with the messages.
    static func drop(in place: Conversation, upTo number: Int64 = .max, in database: Database) throws {
        try database.run(
            sql: "DELETE FROM chat_notes WHERE chat = ? AND place <= ?", arguments: [place.name, number])
    }
}

extension ClientStore {
    /// Notes of a chat whose places are among these, in their order.
    package func notes(
        in chat: Conversation, _ places: ClosedRange<Int64>
    ) throws(ClientStoreError) -> [ChatNote] {
        try self.read { database -> [ChatNote] in
            let sql = "SELECT * FROM chat_notes WHERE chat = ? AND place BETWEEN ? AND ? ORDER BY place, number"
            let arguments: StatementArguments = [chat.name, places.lowerBound, places.upperBound]
            return try Row.fetchAll(database, sql: sql, arguments: arguments).compactMap { row in
                WhisperID(row["person"] as String).map {
                    ChatNote(
                        place: row["place"], time: Timestamp(milliseconds: row["time"]), person: $0,
                        seconds: row["seconds"])
                }
            }
        }
    }
}
