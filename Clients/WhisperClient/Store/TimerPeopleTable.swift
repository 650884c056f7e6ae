import Contract
import SQLite

/// The only code that reads or writes `timer_people`: whose apps are known to keep what should disappear.
///
/// An app that knows timers gives each message a time of its own. A message without one, signed a day or more after its author got the
/// chat's timer, is of an app that does not know them. One with a time takes that back.
enum TimerPeopleTable {
    static func migrate(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE timer_people (
                    chat TEXT NOT NULL, person TEXT NOT NULL, got_at INTEGER, keeps INTEGER NOT NULL DEFAULT 0,
                    PRIMARY KEY (chat, person)) WITHOUT ROWID;
                ALTER TABLE chat_timers ADD COLUMN came_at INTEGER;
                """)
    }

    /// The chat has another timer, which nobody has got yet.
    /// - Parameter time: when it came; `nil` if it is ours. In a direct chat the other person has had it since then.
    static func begin(in chat: Conversation, cameAt time: Timestamp?, in database: Database) throws {
        try database.run(sql: "UPDATE timer_people SET got_at = NULL WHERE chat = ?", arguments: [chat.name])
        try database.run(
            sql: "UPDATE chat_timers SET came_at = ? WHERE chat = ?", arguments: [time?.milliseconds, chat.name])
    }

    /// Somebody has a message of ours: perhaps the timer that counts now.
    static func got(_ id: UUIDText, by person: WhisperID, at now: Timestamp, in database: Database) throws {
        let chat = try String.fetchOne(
            database, sql: "SELECT chat FROM chat_timers WHERE revised_by = ? AND came_at IS NULL",
            arguments: [MessageTable.key(id)])
        guard let chat else { return }
        try database.run(
            sql: """
                INSERT INTO timer_people (chat, person, got_at) VALUES (?, ?, ?)
                    ON CONFLICT (chat, person) DO UPDATE SET got_at = coalesce(got_at, excluded.got_at)
                """, arguments: [chat, "\(person)", now.milliseconds])
    }

    /// Learns from a message that came.
    /// - Returns: whether the chat says something else now.
    static func judge(_ message: Message, in database: Database) throws -> Bool {
        let (place, person) = (message.place, "\(message.peer)")
        guard try DisappearingTable.seconds(in: place, in: database) != nil else { return false }
        let row = try Row.fetchOne(
            database,
            sql: """
                SELECT coalesce(got_at, CASE WHEN ? THEN came_at END) AS got_at, coalesce(keeps, 0) AS keeps FROM chat_timers
                    LEFT JOIN timer_people ON timer_people.chat = chat_timers.chat AND person = ?
                WHERE chat_timers.chat = ?
                """, arguments: [message.isDirect, person, place.name])
        guard let row else { return false }
        // Content that this release cannot read may have a time.
        guard message.expires != nil || message.attachment != nil || message.content.isKnown else { return false }
        var keeps: Bool = row["keeps"]
        if message.expires != nil {
            keeps = false
        } else if let time = row["got_at"] as Int64? {
            keeps = keeps || message.time >= Timestamp(milliseconds: time) + ClientLimits.timerKnownAfter
        }
        guard keeps != row["keeps"] as Bool else { return false }
        try database.run(
            sql: """
                INSERT INTO timer_people (chat, person, keeps) VALUES (?, ?, ?)
                    ON CONFLICT (chat, person) DO UPDATE SET keeps = excluded.keeps
                """, arguments: [place.name, person, keeps])
        return true
    }

    /// People of a chat with a timer whose apps keep its messages, by their ids.
    static func keepers(in place: Conversation, in database: Database) throws -> [WhisperID] {
        let people = try String.fetchAll(
            database, sql: "SELECT person FROM timer_people WHERE chat = ? AND keeps ORDER BY person",
            arguments: [place.name]
        ).compactMap { WhisperID($0) }
        guard case .group(let id) = place, !people.isEmpty else { return people }
        let members = try GroupTable.group(id, in: database)?.members.map(\.id) ?? []
        return people.filter(members.contains)
    }

    static func drop(in place: Conversation, in database: Database) throws {
        try database.run(sql: "DELETE FROM timer_people WHERE chat = ?", arguments: [place.name])
    }
}
