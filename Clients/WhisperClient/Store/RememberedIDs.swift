package import Contract
import SQLite

/// The only code that reads or writes `remembered_ids` and `remembered_counts`: what has come, so that nothing comes twice.
///
/// Triggers keep the counts, so that nobody counts thousands of ids with each message.
extension ClientStore {
    static func migrateRememberedCounts(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE remembered_counts (conversation TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
                INSERT INTO remembered_counts
                    SELECT conversation, count(*) FROM remembered_ids GROUP BY conversation;
                CREATE TRIGGER remembered_ids_insert AFTER INSERT ON remembered_ids BEGIN
                    INSERT INTO remembered_counts VALUES (new.conversation, 1)
                        ON CONFLICT (conversation) DO UPDATE SET count = count + 1;
                END;
                CREATE TRIGGER remembered_ids_delete AFTER DELETE ON remembered_ids BEGIN
                    UPDATE remembered_counts SET count = count - 1 WHERE conversation = old.conversation;
                END;
                """)
    }

    static let undoRememberedCounts = StepDown(
        migration: "remembered counts",
        sql: """
            DROP TRIGGER remembered_ids_insert;
            DROP TRIGGER remembered_ids_delete;
            DROP TABLE remembered_counts;
            """)

    /// - Returns: whether the id was new.
    static func remember(_ key: String, in conversation: String, in database: Database) throws -> Bool {
        try database.run(
            sql: "INSERT INTO remembered_ids (conversation, id_key) VALUES (?, ?) ON CONFLICT DO NOTHING",
            arguments: [conversation, key])
        return database.changesCount == 1
    }

    /// Forgets what is beyond the bound, the oldest first. It reads no other ids.
    static func forgetOldIDs(in conversation: String, in database: Database) throws {
        let count = try Int.fetchOne(
            database, sql: "SELECT count FROM remembered_counts WHERE conversation = ?", arguments: [conversation])
        guard let count, count > ClientLimits.rememberedIDsMax else { return }
        try database.run(
            sql: """
                DELETE FROM remembered_ids WHERE number IN (
                    SELECT number FROM remembered_ids WHERE conversation = ? ORDER BY number LIMIT ?)
                """,
            arguments: [conversation, count - ClientLimits.rememberedIDsMax])
    }

    package func isRemembered(_ id: UUIDText, in conversation: String) throws(ClientStoreError) -> Bool {
        try self.read { try Self.isRemembered(MessageTable.key(id), in: conversation, in: $0) }
    }

    static func isRemembered(_ key: String, in conversation: String, in database: Database) throws -> Bool {
        try Bool.fetchOne(
            database, sql: "SELECT EXISTS (SELECT 1 FROM remembered_ids WHERE conversation = ? AND id_key = ?)",
            arguments: [conversation, key]) ?? false
    }
}
