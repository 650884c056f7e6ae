package import Contract
import SQLite

/// A line of the history that is no message.
package struct ChatNote: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// How many seconds new messages are kept from here on. 0: they stay.
        case timer(Int64)
        case call(CallNote)
    }

    /// Number of the latest message that was here before. The note stands behind it.
    package var place: Int64
    /// A timer's by the clock of the person, a call's by the server's.
    package var time: Timestamp
    /// The person who set the timer, or called.
    package var person: WhisperID
    package var kind: Kind

    package init(place: Int64, time: Timestamp, person: WhisperID, kind: Kind) {
        (self.place, self.time, self.person, self.kind) = (place, time, person, kind)
    }
}

/// The outcome of a call.
package struct CallNote: Sendable, Equatable {
    package enum Outcome: String, CaseIterable, Sendable {
        case talked, missed, declined, busy, noAnswer, cancelled, failed
    }

    package var isVideo: Bool
    package var outcome: Outcome
    /// How long they talked.
    package var seconds: Int64

    package init(isVideo: Bool, outcome: Outcome, seconds: Int64 = 0) {
        (self.isVideo, self.outcome, self.seconds) = (isVideo, outcome, seconds)
    }

    init(_ call: PeerCall, _ reason: PeerCalls.EndReason, at now: ContinuousClock.Instant) {
        self.isVideo = call.isVideo
        self.seconds = call.talkingSince.map { ($0.duration(to: now)).components.seconds } ?? 0
        self.outcome =
            switch reason {
            case .failed: call.isOurs || call.talkingSince != nil ? .failed : .missed
            case _ where call.talkingSince != nil: .talked
            case .declined: .declined
            case .ended, .cancelled: call.isOurs ? .cancelled : .missed
            case .busy: call.isOurs ? .busy : .missed
            case .timeout: call.isOurs ? .noAnswer : .missed
            }
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

    /// A note without an outcome is of a timer.
    static func migrateCalls(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE chat_notes ADD COLUMN outcome TEXT;
                ALTER TABLE chat_notes ADD COLUMN is_video INTEGER NOT NULL DEFAULT 0;
                """)
    }

    static let undoCalls = StepDown(
        migration: "call notes",
        sql: """
            DELETE FROM chat_notes WHERE outcome IS NOT NULL;
            ALTER TABLE chat_notes DROP COLUMN outcome; ALTER TABLE chat_notes DROP COLUMN is_video
            """)

    /// Keeps the latest `ClientLimits.chatNotesMax` of a chat.
    /// - Returns: the note in its place.
    @discardableResult
    static func note(
        _ kind: ChatNote.Kind, by person: WhisperID, at time: Timestamp, in place: Conversation, in database: Database
    ) throws -> ChatNote {
        let latest = try Int64.fetchOne(database, sql: "SELECT max(number) FROM messages") ?? 0
        let (seconds, call): (Int64, CallNote?) =
            switch kind {
            case .timer(let seconds): (seconds, nil)
            case .call(let call): (call.seconds, call)
            }
        try database.run(
            sql: """
                INSERT INTO chat_notes (chat, place, time, person, seconds, outcome, is_video) VALUES (?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                place.name, latest, time.milliseconds, "\(person)", seconds, call?.outcome.rawValue,
                call?.isVideo ?? false,
            ])
        try database.run(
            sql: """
                DELETE FROM chat_notes WHERE number IN (
                    SELECT number FROM chat_notes WHERE chat = ? ORDER BY number DESC LIMIT -1 OFFSET ?)
                """, arguments: [place.name, ClientLimits.chatNotesMax])
        return ChatNote(place: latest, time: time, person: person, kind: kind)
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
                guard let person = WhisperID(row["person"] as String) else { return nil }
                var kind = ChatNote.Kind.timer(row["seconds"])
                if let outcome: String = row["outcome"] {
                    // A later release may know more of them.
                    guard let outcome = CallNote.Outcome(rawValue: outcome) else { return nil }
                    kind = .call(CallNote(isVideo: row["is_video"], outcome: outcome, seconds: row["seconds"]))
                }
                return ChatNote(
                    place: row["place"], time: Timestamp(milliseconds: row["time"]), person: person, kind: kind)
            }
        }
    }
}
