import SQLite

/// The only code that reads or writes `chat_marks`: groups that somebody here has pinned or muted. Contacts have theirs in the backup.
extension ClientStore {
    static func migrateChatMarks(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE chat_marks (
                    chat TEXT PRIMARY KEY, is_pinned INTEGER NOT NULL, is_muted INTEGER NOT NULL) WITHOUT ROWID
                """)
    }

    static let undoChatMarks = StepDown(migration: "chat marks", sql: "DROP TABLE chat_marks")

    static func marks(
        of place: Conversation, in database: Database
    ) throws -> (isPinned: Bool, isMuted: Bool) {
        let sql =
            switch place {
            case .direct: "SELECT is_pinned, is_muted FROM contacts WHERE id = ?"
            case .group: "SELECT is_pinned, is_muted FROM chat_marks WHERE chat = ?"
            }
        let row = try Row.fetchOne(database, sql: sql, arguments: [place.name])
        return (row?["is_pinned"] ?? false, row?["is_muted"] ?? false)
    }

    /// Whether nobody rings for a message that has come: its chat is muted. In a group a mention passes that, unless the person wants none to.
    static func isSilent(_ message: Message, in database: Database) throws -> Bool {
        guard try Self.marks(of: message.place, in: database).isMuted else { return false }
        return try message.isDirect || !message.isMentioned || !Self.preferences(in: database).hearsMentions
    }

    /// - Returns: whether there is such a group.
    func mark(group id: String, isPinned: Bool?, isMuted: Bool?) throws(ClientStoreError) -> Bool {
        try self.write { database -> Bool in
            guard try GroupTable.group(id, in: database) != nil else { return false }
            let marks = try Self.marks(of: .group(id), in: database)
            try database.run(
                sql: "INSERT OR REPLACE INTO chat_marks VALUES (?, ?, ?)",
                arguments: [id, isPinned ?? marks.isPinned, isMuted ?? marks.isMuted])
            return true
        }
    }
}
