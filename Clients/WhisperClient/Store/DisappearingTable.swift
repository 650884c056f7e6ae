package import Contract
import SQLite

/// How long new messages of a chat are kept, on all devices. The later of two stays.
package struct ChatTimer: Sendable, Equatable {
    /// 0: messages do not disappear.
    package var seconds: Int64
    package var revision: Revision

    package init(seconds: Int64, revision: Revision) { (self.seconds, self.revision) = (seconds, revision) }

    /// Whether a message or a chat may have this number of seconds; 0 is for chats alone.
    package static func isTime(_ seconds: Int64) -> Bool { ClientLimits.timerSeconds.contains(seconds) }

    /// For clients that do not know timers: they show it as a text.
    package static func sentence(seconds: Int64) -> String {
        guard seconds > 0 else { return "New messages stay." }
        let units: [(Int64, String)] = [
            (604_800, "week"), (86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second"),
        ]
        let (size, name) = units.first { seconds % $0.0 == 0 }!
        let count = seconds / size
        return "New messages disappear after \(count) \(name)\(count == 1 ? "" : "s")."
    }
}

/// The only code that reads or writes `chat_timers` and the columns `expires`, `expires_at` and `is_timed` of `messages`.
///
/// A message has its own time (`expires`), so a timer that is lost or late harms nothing. Its clock begins when the server has ours, and
/// when the person here has read theirs.
package struct DisappearingTable: Sendable {
    let store: ClientStore

    static func migrateTimers(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE chat_timers (
                    chat TEXT PRIMARY KEY, seconds INTEGER NOT NULL, revised_at INTEGER NOT NULL, revised_by TEXT NOT NULL
                ) WITHOUT ROWID;
                ALTER TABLE messages ADD COLUMN expires INTEGER;
                ALTER TABLE messages ADD COLUMN expires_at INTEGER;
                ALTER TABLE messages ADD COLUMN is_timed INTEGER NOT NULL DEFAULT 0;
                CREATE INDEX messages_untimed ON messages (number) WHERE expires IS NOT NULL AND NOT is_timed;
                CREATE INDEX messages_expiring ON messages (expires_at) WHERE expires_at IS NOT NULL;
                """)
    }

    static let undoTimers = StepDown(
        migration: "timers",
        sql: """
            DELETE FROM messages WHERE expires IS NOT NULL;
            DROP INDEX messages_untimed; DROP INDEX messages_expiring; DROP TABLE chat_timers;
            ALTER TABLE messages DROP COLUMN expires; ALTER TABLE messages DROP COLUMN expires_at;
            ALTER TABLE messages DROP COLUMN is_timed
            """)

    /// Notes of changed timers, whose apps keep messages, and the signed times of changes that wait.
    static func migrateNotes(_ database: Database) throws {
        try ChatNoteTable.migrate(database)
        try TimerPeopleTable.migrate(database)
        try database.execute(sql: "ALTER TABLE waiting_changes ADD COLUMN signed_at INTEGER")
    }

    static let undoNotes = StepDown(
        migration: "timer notes",
        sql: """
            DROP TABLE chat_notes; DROP TABLE timer_people; ALTER TABLE chat_timers DROP COLUMN came_at;
            ALTER TABLE waiting_changes DROP COLUMN signed_at
            """)

    // MARK: Timers

    /// Seconds of new messages in a chat; `nil` if they stay.
    package func seconds(in place: Conversation) throws(ClientStoreError) -> Int64? {
        try self.store.read { try Self.seconds(in: place, in: $0) }
    }

    /// Seconds of a new message of ours: what its writer has chosen, else the timer of its chat.
    func seconds(of message: Message, chosen: Int64?) throws(ClientStoreError) -> Int64? {
        if let chosen { return chosen }
        return try self.seconds(in: message.place)
    }

    static func seconds(in place: Conversation, in database: Database) throws -> Int64? {
        try Self.timer(of: place, in: database).flatMap { $0.seconds > 0 ? $0.seconds : nil }
    }

    static func timer(of place: Conversation, in database: Database) throws -> ChatTimer? {
        try Row.fetchOne(database, sql: "SELECT * FROM chat_timers WHERE chat = ?", arguments: [place.name]).map {
            ChatTimer(
                seconds: $0["seconds"], revision: Revision(time: $0["revised_at"], key: $0["revised_by"] as String))
        }
    }

    static func dropTimer(of place: Conversation, in database: Database) throws {
        try ChatNoteTable.drop(in: place, in: database)
        try TimerPeopleTable.drop(in: place, in: database)
        try database.run(sql: "DELETE FROM chat_timers WHERE chat = ?", arguments: [place.name])
    }

    /// Takes a timer, if it is later than the one that is here, and notes it in the history.
    /// - Parameters:
    ///   - person: who has set it.
    ///   - time: when it came; `nil` if it is ours.
    /// - Returns: whether it was.
    private static func set(
        _ timer: ChatTimer, of place: Conversation, by person: WhisperID?, cameAt time: Timestamp?,
        in database: Database
    ) throws -> Bool {
        if let known = try Self.timer(of: place, in: database), timer.revision <= known.revision { return false }
        try database.run(
            sql: "INSERT OR REPLACE INTO chat_timers (chat, seconds, revised_at, revised_by) VALUES (?, ?, ?, ?)",
            arguments: [place.name, timer.seconds, timer.revision.time, timer.revision.id])
        try TimerPeopleTable.begin(in: place, cameAt: time, in: database)
        if let person {
            let time = Timestamp(milliseconds: timer.revision.time)
            try ChatNoteTable.note(.timer(timer.seconds), by: person, at: time, in: place, in: database)
        }
        return true
    }

    /// Sets the timer of a chat, and keeps its change until the server has it, together.
    /// - Parameters:
    ///   - id: of the message that brings the change.
    ///   - now: the timer is later than the one of before, even if our clock was set back.
    /// - Returns: `false` if it is so already.
    package func queue(
        _ seconds: Int64, id: UUIDText, in place: Conversation, at now: Timestamp
    ) throws(ClientStoreError) -> Result<Bool, ChangeRefusal> {
        try self.store.write { database -> Result<Bool, ChangeRefusal> in
            let ownID = try SettingsTable.whisperID(in: database)
            if case .group(let group) = place, let ownID {
                guard try Self.mayTime(ownID, group, in: database) else { return .failure(.notAllowed) }
            }
            let known = try Self.timer(of: place, in: database)
            guard seconds != known?.seconds ?? 0 else { return .success(false) }
            let timer = ChatTimer(
                seconds: seconds,
                revision: Revision(time: max(now.milliseconds, (known?.revision.time ?? 0) + 1), id: id))
            _ = try Self.set(timer, of: place, by: ownID, cameAt: nil, in: database)
            return try ChangeTable.queue(MessageBody.timer(timer), id: id, in: place, in: database).map { true }
        }
    }

    /// Somebody has a message of ours, which may be the change of a timer.
    package func got(_ id: UUIDText, by person: WhisperID, at now: Timestamp) throws(ClientStoreError) {
        try self.store.write { try TimerPeopleTable.got(id, by: person, at: now, in: $0) }
    }

    /// Takes the timer that somebody else has set. In a group only its owner and admins may, and no stranger may.
    /// - Returns: whether it holds now.
    static func keep(
        _ timer: ChatTimer, from sender: WhisperID, groupID: String?, at now: Timestamp, in database: Database
    ) throws -> Bool {
        let place = groupID.map { Conversation.group($0) } ?? .direct(sender)
        guard try ClientStore.remember(timer.revision.id, in: place.name, in: database) else { return false }
        switch place {
        case .direct:
            guard try ContactTable.contact(sender, in: database)?.isStranger == false else { return false }
        case .group(let id): guard try Self.mayTime(sender, id, in: database) else { return false }
        }
        return try Self.set(timer, of: place, by: sender, cameAt: now, in: database)
    }

    private static func mayTime(_ person: WhisperID, _ group: String, in database: Database) throws -> Bool {
        let role = try GroupTable.group(group, in: database)?.members.first { $0.id == person }?.role
        return role == .owner || role == .admin
    }

    // MARK: Messages

    /// Gives a message that was just inserted its time.
    static func set(_ message: Message, number: Int64, in database: Database) throws {
        guard let seconds = message.expires else { return }
        try database.run(sql: "UPDATE messages SET expires = ? WHERE number = ?", arguments: [seconds, number])
    }

    /// A message of somebody else goes some time, too, if it is never read.
    static func limit(_ message: Message, number: Int64, at now: Timestamp, in database: Database) throws {
        guard let seconds = message.expires else { return }
        let latest = min(message.time, now) + ClientLimits.mailAgeMax + .seconds(seconds)
        try database.run(
            sql: "UPDATE messages SET expires_at = ? WHERE number = ?", arguments: [latest.milliseconds, number])
    }

    /// Begins the clocks of what the server has of ours, and of what was read here.
    package func beginClocks(at now: Timestamp) throws(ClientStoreError) {
        let isWaiting = try self.store.read {
            try Bool.fetchOne($0, sql: "SELECT EXISTS (SELECT 1 FROM messages WHERE \(Self.mayBegin))") ?? false
        }
        guard isWaiting else { return }
        try self.store.write { database in
            try database.run(
                sql: """
                    UPDATE messages SET is_timed = 1,
                        expires_at = min(coalesce(expires_at, \(Int64.max)), ? + expires * 1000)
                    WHERE \(Self.mayBegin)
                    """, arguments: [now.milliseconds])
        }
    }

    private static let mayBegin = """
        expires IS NOT NULL AND NOT is_timed
            AND CASE WHEN NOT is_outgoing THEN is_read
                WHEN state IN ('sent', 'delivered', 'read', 'expired') THEN 1
                ELSE EXISTS (
                    SELECT 1 FROM group_sendings JOIN group_deliveries ON sending = group_sendings.number
                    WHERE group_sendings.id_key = messages.id_key
                        AND group_deliveries.state IN ('sent', 'delivered', 'read'))
                END
        """

    /// When the next message is due.
    /// - Parameter sparesUnread: those that nobody has read do not count.
    package func nextExpiry(sparingUnread sparesUnread: Bool) throws(ClientStoreError) -> Timestamp? {
        try self.store.read {
            try Int64.fetchOne(
                $0, sql: "SELECT min(expires_at) FROM messages WHERE expires_at IS NOT NULL AND is_timed >= ?",
                arguments: [sparesUnread ? 1 : 0]
            ).map { Timestamp(milliseconds: $0) }
        }
    }

    /// Deletes what is due, with everything that belongs to it, `ClientLimits.expiredAtOnceMax` at most.
    /// - Parameter sparesUnread: what nobody has read stays. A clock that may be wrong must not take it.
    /// - Returns: the deleted messages, by chat.
    package func sweep(
        at now: Timestamp, sparingUnread sparesUnread: Bool
    ) throws(ClientStoreError) -> [Conversation: [DisappearedMessage]] {
        try self.store.write { database -> [Conversation: [DisappearedMessage]] in
            let due = """
                FROM messages WHERE expires_at IS NOT NULL AND expires_at <= ? AND is_timed >= ?
                ORDER BY expires_at, number LIMIT ?
                """
            let arguments: StatementArguments = [
                now.milliseconds, sparesUnread ? 1 : 0, ClientLimits.expiredAtOnceMax,
            ]
            let rows = try Row.fetchAll(database, sql: "SELECT * \(due)", arguments: arguments)
            guard !rows.isEmpty else { return [:] }
            var (expired, ours): ([Conversation: [DisappearedMessage]], Set<String>) = ([:], [])
            for row in rows {
                guard let message = MessageTable.message(row) else { continue }
                let number: Int64 = row["number"]
                let author = message.state == nil ? message.peer : nil
                expired[message.place, default: []].append(
                    DisappearedMessage(number: number, id: message.id, author: author))
                if message.state != nil { ours.insert(MessageTable.key(message.id)) }
            }
            _ = try ClientStore.deleteMessages("SELECT number \(due)", arguments, in: database)
            try ChangeTable.dropEdits(of: ours, in: database)
            if expired.keys.contains(where: { if case .group = $0 { true } else { false } }) {
                try DeliveryTable.dropForgottenSendings(in: database)
            }
            return expired
        }
    }
}

/// A message whose time is over, and which is no longer in the store.
package struct DisappearedMessage: Hashable, Sendable {
    package var number: Int64
    package var id: UUIDText
    /// `nil` for ours.
    package var author: WhisperID?
}
