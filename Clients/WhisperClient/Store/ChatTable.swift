package import Contract
import SQLite

/// A conversation as a list shows it, less its messages.
package struct ChatState: Sendable, Equatable {
    package var place: Conversation
    package var unread: Int
    /// Text typed and not sent.
    package var draft: String?
    package var isPinned: Bool
    package var isMuted: Bool
    /// Seconds after which new messages disappear.
    package var timer: Int64?
    /// People whose apps keep what should disappear.
    package var keepers: [WhisperID] = []

    package init(
        place: Conversation, unread: Int, draft: String?, isPinned: Bool, isMuted: Bool, timer: Int64?,
        keepers: [WhisperID] = []
    ) {
        (self.place, self.unread, self.draft) = (place, unread, draft)
        (self.isPinned, self.isMuted, self.timer, self.keepers) = (isPinned, isMuted, timer, keepers)
    }
}

/// The only code that reads or writes `chats`: what belongs to a conversation and is no message.
extension ClientStore {
    static func migrateChats(_ database: Database) throws {
        try database.execute(sql: "CREATE TABLE chats (peer TEXT PRIMARY KEY, draft TEXT NOT NULL) WITHOUT ROWID")
    }

    /// Text typed and not sent.
    package func draft(in place: Conversation) throws(ClientStoreError) -> String? {
        try self.read {
            try String.fetchOne($0, sql: "SELECT draft FROM chats WHERE peer = ?", arguments: [place.name])
        }
    }

    package func chatState(of place: Conversation) throws(ClientStoreError) -> ChatState {
        try self.read { try Self.chatState(of: place, in: $0) }
    }

    static func chatState(of place: Conversation, in database: Database) throws -> ChatState {
        let sql = "SELECT count(*) FROM messages WHERE NOT is_outgoing AND NOT is_read AND \(place.rows)"
        let marks = try Self.marks(of: place, in: database)
        var state = ChatState(
            place: place, unread: try Int.fetchOne(database, sql: sql, arguments: [place.name]) ?? 0,
            draft: try String.fetchOne(
                database, sql: "SELECT draft FROM chats WHERE peer = ?", arguments: [place.name]),
            isPinned: marks.isPinned, isMuted: marks.isMuted,
            timer: try DisappearingTable.seconds(in: place, in: database))
        if state.timer != nil { state.keepers = try TimerPeopleTable.keepers(in: place, in: database) }
        return state
    }

    /// - Parameter draft: an empty one is none.
    /// - Returns: whether there is such a contact or group.
    package func set(draft: String, in place: Conversation) throws(ClientStoreError) -> Bool {
        try self.write { database -> Bool in
            switch place {
            case .direct(let peer): guard try ContactTable.contact(peer, in: database) != nil else { return false }
            case .group(let id): guard try GroupTable.group(id, in: database) != nil else { return false }
            }
            guard !draft.isEmpty else {
                try Self.dropDraft(in: place, in: database)
                return true
            }
            try database.run(
                sql: "INSERT INTO chats VALUES (?, ?) ON CONFLICT (peer) DO UPDATE SET draft = excluded.draft",
                arguments: [place.name, draft])
            return true
        }
    }

    static func dropDraft(in place: Conversation, in database: Database) throws {
        try database.run(sql: "DELETE FROM chats WHERE peer = ?", arguments: [place.name])
    }

    /// Forgets messages of a conversation here, the oldest first, `ClientLimits.clearedAtOnceMax` at most. Messages
    /// waiting to be sent stay. Events and read marks of the forgotten messages are deleted too.
    /// - Parameter number: of the latest message that may be forgotten.
    /// - Returns: the number of forgotten messages.
    package func clear(_ place: Conversation, upTo number: Int64) throws(ClientStoreError) -> Int {
        try self.write { try Self.clear(place, upTo: number, in: $0) }
    }

    static func clear(_ place: Conversation, upTo number: Int64, in database: Database) throws -> Int {
        let rows = """
            SELECT number FROM messages WHERE \(place.rows) AND number <= ?
                AND (state IS NULL OR state NOT IN ('queued', 'sending'))
            ORDER BY number LIMIT ?
            """
        try ChatNoteTable.drop(in: place, upTo: number, in: database)
        let count = try Self.deleteMessages(
            rows, [place.name, number, ClientLimits.clearedAtOnceMax], in: database)
        if case .group = place { try DeliveryTable.dropForgottenSendings(in: database) }
        return count
    }

    /// Deletes messages with their events and evidence. Triggers take their words and transfers along.
    /// - Parameter rows: a query for their numbers.
    /// - Returns: how many.
    static func deleteMessages(_ rows: String, _ arguments: StatementArguments, in database: Database) throws -> Int {
        try database.run(sql: "DELETE FROM events WHERE message IN (\(rows))", arguments: arguments)
        try database.run(sql: "DELETE FROM evidence WHERE message IN (\(rows))", arguments: arguments)
        try database.run(sql: "DELETE FROM messages WHERE number IN (\(rows))", arguments: arguments)
        return database.changesCount
    }
}
