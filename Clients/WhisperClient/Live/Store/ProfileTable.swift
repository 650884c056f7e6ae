import Contract
import SQLite

/// The only code that reads or writes `profile_documents`: the contents of our profile's documents as they are merged here,
/// sealed, and the changes of this device that the server does not have.
struct ProfileTable: Sendable {
    let seal: StoreSeal

    struct Document {
        var contents = ProfileContents()
        /// The server's version whose content is in the contents. 0: none.
        var version: Int64 = 0
        /// Changes that are owed to the server.
        var changes: Int64 = 0
    }

    static func migrate(_ database: Database) throws {
        // The person has used each conversation of before, or has given out its link.
        try database.execute(
            sql: """
                ALTER TABLE live_conversations ADD COLUMN is_used INTEGER NOT NULL DEFAULT 1;
                ALTER TABLE live_listeners ADD COLUMN profile_key BLOB;
                """)
        guard try database.tableExists("kept_profile_documents") else {
            return try database.execute(
                sql: """
                    CREATE TABLE profile_documents (
                        name TEXT PRIMARY KEY, content BLOB NOT NULL, version INTEGER NOT NULL,
                        changes INTEGER NOT NULL)
                    """)
        }
        try database.execute(
            sql: """
                ALTER TABLE kept_profile_documents RENAME TO profile_documents;
                UPDATE live_conversations SET is_used = 0 WHERE id IN (SELECT id FROM kept_unused_conversations);
                DROP TABLE kept_unused_conversations;
                """)
    }

    /// The documents stay beside the tables of the earlier release: their stamps say what is newer than other devices' values.
    static let undo = StepDown(
        migration: "profile registers",
        sql: """
            ALTER TABLE profile_documents RENAME TO kept_profile_documents;
            CREATE TABLE kept_unused_conversations AS SELECT id FROM live_conversations WHERE is_used = 0;
            INSERT OR REPLACE INTO settings (name, value)
                SELECT 'profileBefore', coalesce((SELECT value FROM settings WHERE name = 'liveProfile'), '');
            ALTER TABLE live_listeners DROP COLUMN profile_key;
            ALTER TABLE live_conversations DROP COLUMN is_used;
            """)

    /// An earlier release has had the store meanwhile: the sealed profile of then, empty if there was none.
    static let beforeSetting = "profileBefore"

    func document(_ name: ProfileDocumentName, in database: Database) throws -> Document? {
        let sql = "SELECT * FROM profile_documents WHERE name = ?"
        guard let row = try Row.fetchOne(database, sql: sql, arguments: [name.rawValue]),
            let text = self.seal.open(row["content"] as [UInt8], place: Self.place(name)),
            let contents = ProfileContents(text)
        else { return nil }
        return Document(contents: contents, version: row["version"], changes: row["changes"])
    }

    func contents(_ name: ProfileDocumentName, in database: Database) throws -> ProfileContents {
        try self.document(name, in: database)?.contents ?? ProfileContents()
    }

    func set(_ document: Document, as name: ProfileDocumentName, in database: Database) throws {
        try database.run(
            sql: "INSERT OR REPLACE INTO profile_documents VALUES (?, ?, ?, ?)",
            arguments: [
                name.rawValue, self.seal.seal(document.contents.text, place: Self.place(name)), document.version,
                document.changes,
            ])
    }

    /// Changes a document here. It is owed to the server from then on.
    func change(
        _ name: ProfileDocumentName, at now: Timestamp, in database: Database, _ change: (inout ProfileEdit) -> Void
    ) throws {
        var document = try self.document(name, in: database) ?? Document()
        let device = ProfileRegister.device(of: try SettingsTable.whisperID(in: database))
        var edit = ProfileEdit(document.contents, at: now, by: device)
        change(&edit)
        guard edit.isChanged else { return }
        document.contents = edit.contents
        document.changes += 1
        try self.set(document, as: name, in: database)
    }

    /// The server has these changes. Changes made meanwhile are still owed.
    func written(
        _ changes: Int64, of name: ProfileDocumentName, as version: Int64, in database: Database
    ) throws {
        try database.run(
            sql: "UPDATE profile_documents SET version = ?, changes = max(0, changes - ?) WHERE name = ?",
            arguments: [version, changes, name.rawValue])
    }

    func owed(in database: Database) throws -> [ProfileDocumentName: Int64] {
        let rows = try Row.fetchAll(database, sql: "SELECT name, changes FROM profile_documents WHERE changes > 0")
        var owed: [ProfileDocumentName: Int64] = [:]
        for row in rows { if let name = ProfileDocumentName(rawValue: row["name"]) { owed[name] = row["changes"] } }
        return owed
    }

    /// Grows and shrinks with the document.
    func bytes(of name: ProfileDocumentName, in database: Database) throws -> Int {
        let sql = "SELECT length(content) FROM profile_documents WHERE name = ?"
        return try Int.fetchOne(database, sql: sql, arguments: [name.rawValue]) ?? 0
    }

    /// The documents are another profile's from here on: what is in them is owed to it.
    func move(in database: Database) throws {
        try database.execute(sql: "UPDATE profile_documents SET version = 0, changes = changes + 1")
    }

    func forget(_ name: ProfileDocumentName, in database: Database) throws {
        try database.run(sql: "DELETE FROM profile_documents WHERE name = ?", arguments: [name.rawValue])
    }

    private static func place(_ name: ProfileDocumentName) -> String { "profile document \(name.rawValue)" }
}
