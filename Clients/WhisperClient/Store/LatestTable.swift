import SQLite

/// The only code that reads or writes `latest_messages`: the latest message of each conversation.
///
/// A list of chats would look into every conversation otherwise. Triggers keep it in the transaction that writes the message.
extension ClientStore {
    static func migrateLatest(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE latest_messages (chat TEXT PRIMARY KEY, number INTEGER NOT NULL) WITHOUT ROWID;
                INSERT INTO latest_messages
                    SELECT coalesce(group_id, peer) AS chat, max(number) FROM messages GROUP BY chat;
                CREATE INDEX latest_messages_order ON latest_messages (number);
                CREATE TRIGGER latest_messages_insert AFTER INSERT ON messages BEGIN
                    INSERT INTO latest_messages VALUES (coalesce(new.group_id, new.peer), new.number)
                        ON CONFLICT (chat) DO UPDATE SET number = excluded.number;
                END;
                CREATE TRIGGER latest_messages_delete AFTER DELETE ON messages
                    WHEN old.number = (
                        SELECT number FROM latest_messages WHERE chat = coalesce(old.group_id, old.peer))
                BEGIN
                    DELETE FROM latest_messages WHERE chat = coalesce(old.group_id, old.peer);
                    INSERT INTO latest_messages
                        SELECT old.peer, number FROM messages
                        WHERE old.group_id IS NULL AND group_id IS NULL AND peer = old.peer
                        ORDER BY number DESC LIMIT 1;
                    INSERT INTO latest_messages
                        SELECT group_id, number FROM messages
                        WHERE old.group_id IS NOT NULL AND group_id = old.group_id
                        ORDER BY number DESC LIMIT 1;
                END;
                """)
    }

    static let latestSQL = """
        SELECT messages.* FROM latest_messages JOIN messages ON messages.number = latest_messages.number
        WHERE latest_messages.number < ? AND (
            EXISTS (SELECT 1 FROM contacts WHERE id = chat) OR EXISTS (SELECT 1 FROM chat_groups WHERE id = chat))
        ORDER BY latest_messages.number DESC LIMIT ?
        """

    /// The latest message of each conversation with a contact or in a group, newest first.
    /// - Parameter before: only messages older than the one with this number.
    package func latest(
        limit: Int, before: Int64? = nil
    ) throws(ClientStoreError) -> [(number: Int64, message: Message)] {
        try self.read { database -> [(number: Int64, message: Message)] in
            return try Row.fetchAll(database, sql: Self.latestSQL, arguments: [before ?? .max, limit]).compactMap {
                row in
                MessageTable.message(row).map { (number: row["number"] as Int64, message: $0) }
            }
        }
    }
}
