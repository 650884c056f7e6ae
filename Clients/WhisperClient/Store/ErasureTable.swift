import SQLite

/// The only code that reads or writes `erasure`, and that takes deleted texts out of the files (secrecy §11.4).
///
/// `secure_delete` overwrites freed bytes. A deleted text is still in the write-ahead log, and its words are in older parts of the
/// search index, until both are rewritten. Triggers count what is owed, so no deletion can forget it, and a killed process finds the
/// count when it opens the store again.
package struct ErasureTable: Sendable {
    let store: ClientStore

    /// Pages of the search index that one step rewrites: a few milliseconds.
    private static let pagesInStep = 16
    /// Bytes of a store that is rewritten as a whole. SQLite does it in memory. In a larger one the rests of rows that moved between
    /// pages stay, until their pages are written again.
    private static let vacuumedBytesMax: Int64 = 16_000_000

    static func migrateErasure(_ database: Database) throws {
        let owes = "INSERT INTO erasure VALUES (1, 1) ON CONFLICT (id) DO UPDATE SET owed = owed + 1"
        try database.execute(
            sql: """
                CREATE TABLE erasure (id INTEGER PRIMARY KEY CHECK (id = 1), owed INTEGER NOT NULL);
                CREATE TRIGGER erasure_delete AFTER DELETE ON messages BEGIN \(owes); END;
                CREATE TRIGGER erasure_update AFTER UPDATE OF body ON messages BEGIN \(owes); END;
                INSERT INTO erasure SELECT 1, 1 WHERE EXISTS (SELECT 1 FROM messages);
                """)
    }

    static let undoErasure = StepDown(
        migration: "erasure", sql: "DROP TRIGGER erasure_delete; DROP TRIGGER erasure_update; DROP TABLE erasure")

    /// - Returns: a number that grows with each deletion; `nil` if nothing is owed.
    func owed() throws(ClientStoreError) -> Int64? {
        try self.store.read { try Int64.fetchOne($0, sql: "SELECT owed FROM erasure") }
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

    /// Rewrites the pages of a small store, and empties the write-ahead log.
    /// - Parameter owed: as it was before the index was merged. A deletion since then is owed still.
    func rewriteFiles(owed: Int64) throws(ClientStoreError) {
        try self.store.vacuum(upTo: Self.vacuumedBytesMax)
        // While another connection reads an older state, the log stays, and is owed.
        guard try self.store.truncateLog() else { return }
        try self.store.write { try $0.run(sql: "DELETE FROM erasure WHERE owed = ?", arguments: [owed]) }
    }
}
