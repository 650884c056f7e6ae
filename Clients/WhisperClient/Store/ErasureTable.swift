import SQLite

/// The only code that reads or writes `erasure`, and that takes deleted texts out of the files (secrecy §11.4).
///
/// `secure_delete` overwrites freed bytes. A deleted text is still in the write-ahead log, and its words are in older parts of the
/// search index, until both are rewritten. A trigger notes that this is owed, so no deletion can forget it, and a killed process
/// finds the note when it opens the store again.
package struct ErasureTable: Sendable {
    let store: ClientStore

    /// Pages of the search index that one step rewrites: a few milliseconds.
    private static let pagesInStep = 16

    static func migrateErasure(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE erasure (owed INTEGER PRIMARY KEY CHECK (owed = 1));
                CREATE TRIGGER erasure_delete AFTER DELETE ON messages BEGIN
                    INSERT OR IGNORE INTO erasure VALUES (1);
                END;
                CREATE TRIGGER erasure_update AFTER UPDATE OF body ON messages BEGIN
                    INSERT OR IGNORE INTO erasure VALUES (1);
                END;
                """)
    }

    static let undoErasure = StepDown(
        migration: "erasure", sql: "DROP TRIGGER erasure_delete; DROP TRIGGER erasure_update; DROP TABLE erasure")

    func isOwed() throws(ClientStoreError) -> Bool {
        try self.store.read { try Bool.fetchOne($0, sql: "SELECT EXISTS (SELECT 1 FROM erasure)") ?? false }
    }

    /// Rewrites the next part of the search index. A merge of all parts into one leaves no word of a deleted text.
    /// - Parameter isFirst: begins the merge.
    /// - Returns: whether all is rewritten.
    func mergeIndex(isFirst: Bool) throws(ClientStoreError) -> Bool {
        try self.store.write { database -> Bool in
            let before = try Self.changes(in: database)
            try database.run(
                sql: "INSERT INTO messages_fts (messages_fts, rank) VALUES ('merge', ?)",
                arguments: [isFirst ? -Self.pagesInStep : Self.pagesInStep])
            // The statement itself counts as one.
            return try Self.changes(in: database) - before < 2
        }
    }

    private static func changes(in database: Database) throws -> Int64 {
        try Int64.fetchOne(database, sql: "SELECT total_changes()") ?? 0
    }

    /// Empties the write-ahead log. Nothing is owed afterwards.
    /// - Returns: `false` while another connection reads an older state.
    func emptyLog() throws(ClientStoreError) -> Bool {
        guard try self.store.truncateLog() else { return false }
        try self.store.write { try $0.run(sql: "DELETE FROM erasure") }
        return true
    }
}
