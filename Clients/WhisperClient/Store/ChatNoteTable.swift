package import Contract
import SQLite

/// A line of the history that is no message.
package struct ChatNote: Sendable, Equatable {
    package enum Kind: Sendable, Equatable {
        /// How many seconds new messages are kept from here on. 0: they stay.
        case timer(Int64)
        case call(CallNote)
        /// Members who came into the group, and who left it or were removed: the first of them, and how many there are.
        case added([WhisperID], count: Int64)
        case removed([WhisperID], count: Int64)
        /// The group's new title.
        case title(String)
    }

    /// Number of the latest message that was here before. The note stands behind it.
    package var place: Int64
    /// A timer's by the clock of the person, that of others by the server's.
    package var time: Timestamp
    /// The person who set the timer, called, or changed the group. Nil: the change was found in the server's list, or between two
    /// events.
    package var person: WhisperID?
    package var kind: Kind

    package init(place: Int64, time: Timestamp, person: WhisperID?, kind: Kind) {
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

    /// A note with neither an outcome nor a change of a group is of a timer.
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

    static func migrateGroups(_ database: Database) throws {
        try database.execute(
            sql: """
                ALTER TABLE chat_notes ADD COLUMN change TEXT;
                ALTER TABLE chat_notes ADD COLUMN text TEXT;
                """)
    }

    static let undoGroups = StepDown(
        migration: "group notes",
        sql: """
            DELETE FROM chat_notes WHERE change IS NOT NULL;
            ALTER TABLE chat_notes DROP COLUMN change; ALTER TABLE chat_notes DROP COLUMN text
            """)

    /// Keeps what the server's word changes of a group that is known. A new one has the members whom its event adds.
    ///
    /// The actor is that of the latest change. If there were others before it, nobody knows here whose each of them was.
    static func note(_ change: GroupChange, from known: Group?, to group: Group, in database: Database) throws {
        // A group of revision 0 is known by its mail alone.
        let before = (known?.revision ?? 0) > 0 ? known : nil
        let isNext = before.map { $0.revision + 1 == group.revision } ?? true
        func note(_ kind: ChatNote.Kind) throws {
            let actor = isNext ? change.actor : nil
            try Self.note(kind, by: actor, at: group.updatedAt, in: .group(group.id), in: database)
        }
        guard let known = before else {
            if !change.added.isEmpty { try note(Self.added(change.added)) }
            return
        }
        let (old, now) = (Set(known.members.map(\.id)), Set(group.members.map(\.id)))
        let added = group.members.map(\.id).filter { !old.contains($0) }
        let removed = known.members.map(\.id).filter { !now.contains($0) }
        if !added.isEmpty { try note(Self.added(added)) }
        if !removed.isEmpty { try note(Self.removed(removed)) }
        if group.title != known.title { try note(.title(group.title)) }
    }

    /// Keeps the latest `ClientLimits.chatNotesMax` of a chat.
    /// - Returns: the note in its place.
    @discardableResult
    static func note(
        _ kind: ChatNote.Kind, by person: WhisperID?, at time: Timestamp, in place: Conversation, in database: Database
    ) throws -> ChatNote {
        let latest = try Int64.fetchOne(database, sql: "SELECT max(number) FROM messages") ?? 0
        var (seconds, call, change): (Int64, CallNote?, (name: String, text: String)?) = (0, nil, nil)
        switch kind {
        case .timer(let all): seconds = all
        case .call(let one): (seconds, call) = (one.seconds, one)
        case .added(let members, let count): (change, seconds) = (("added", Self.text(members)), count)
        case .removed(let members, let count): (change, seconds) = (("removed", Self.text(members)), count)
        case .title(let title): change = ("title", title)
        }
        try database.run(
            sql: """
                INSERT INTO chat_notes (chat, place, time, person, seconds, outcome, is_video, change, text)
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                place.name, latest, time.milliseconds, person.map { "\($0)" } ?? "", seconds, call?.outcome.rawValue,
                call?.isVideo ?? false, change?.name, change?.text,
            ])
        try database.run(
            sql: """
                DELETE FROM chat_notes WHERE number IN (
                    SELECT number FROM chat_notes WHERE chat = ? ORDER BY number DESC LIMIT -1 OFFSET ?)
                """, arguments: [place.name, ClientLimits.chatNotesMax])
        return ChatNote(place: latest, time: time, person: person, kind: kind)
    }

    static func added(_ members: [WhisperID]) -> ChatNote.Kind {
        .added(Array(members.prefix(ClientLimits.noteMembersMax)), count: Int64(members.count))
    }

    static func removed(_ members: [WhisperID]) -> ChatNote.Kind {
        .removed(Array(members.prefix(ClientLimits.noteMembersMax)), count: Int64(members.count))
    }

    private static func text(_ members: [WhisperID]) -> String { members.map { "\($0)" }.joined(separator: " ") }

    /// - Returns: nil for one that a later release has noted.
    fileprivate static func read(_ row: Row) -> ChatNote? {
        var kind = ChatNote.Kind.timer(row["seconds"])
        if let outcome: String = row["outcome"] {
            guard let outcome = CallNote.Outcome(rawValue: outcome) else { return nil }
            kind = .call(CallNote(isVideo: row["is_video"], outcome: outcome, seconds: row["seconds"]))
        } else if let change: String = row["change"] {
            let text: String = row["text"] ?? ""
            let members = text.split(separator: " ").compactMap { WhisperID(String($0)) }
            switch change {
            case "added": kind = .added(members, count: max(row["seconds"], Int64(members.count)))
            case "removed": kind = .removed(members, count: max(row["seconds"], Int64(members.count)))
            case "title": kind = .title(text)
            default: return nil
            }
        }
        return ChatNote(
            place: row["place"], time: Timestamp(milliseconds: row["time"]), person: WhisperID(row["person"] as String),
            kind: kind)
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
            return try Row.fetchAll(database, sql: sql, arguments: arguments).compactMap(ChatNoteTable.read)
        }
    }

    /// The note that stands last behind a message.
    package func latestNote(in chat: Conversation, behind number: Int64) throws(ClientStoreError) -> ChatNote? {
        try self.read { database -> ChatNote? in
            try Row.fetchOne(
                database,
                sql: "SELECT * FROM chat_notes WHERE chat = ? AND place >= ? ORDER BY place DESC, number DESC LIMIT 1",
                arguments: [chat.name, number]
            ).flatMap(ChatNoteTable.read)
        }
    }
}
