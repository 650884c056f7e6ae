import FoundationEssentials
import GRDB

/// Everything a client must not forget, in one SQLite file. Each call is one transaction and is on disk when it returns.
///
/// The calls block; the engine makes them on an executor of its own.
package struct ClientStore: Sendable {
    let database: DatabaseQueue

    /// Opens or creates the file.
    package init(path: String) throws(ClientStoreError) {
        var configuration = Configuration()
        configuration.journalMode = .wal
        configuration.busyMode = .timeout(5)
        // A receipt promises that the message is kept: a commit that the disk has not seen is no commit.
        configuration.prepareDatabase { try $0.execute(sql: "PRAGMA synchronous = FULL") }
        do {
            self.database = try DatabaseQueue(path: path, configuration: configuration)
            try Self.migrator.migrate(self.database)
        } catch {
            throw .failed("\(error)")
        }
    }

    /// How a file stands to this release.
    package enum Migrations: Equatable, Sendable {
        /// There is none yet, or it is as this release writes it.
        case none
        /// So many wait.
        case pending(Int)
        /// A later release has written it.
        case tooNew
    }

    package static func migrations(path: String) throws(ClientStoreError) -> Migrations {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        do {
            let database = try DatabaseQueue(path: path, configuration: configuration)
            return try database.read { database in
                if try Self.migrator.hasBeenSuperseded(database) { return .tooNew }
                let applied = try Self.migrator.appliedIdentifiers(database)
                let pending = Self.migrator.migrations.count { !applied.contains($0) }
                // A file that was just made has nothing to lose.
                return pending == 0 || applied.isEmpty ? .none : .pending(pending)
            }
        } catch {
            throw .failed("\(error)")
        }
    }

    /// Lets go of the file. What reads or writes later fails.
    func close() { try? self.database.close() }

    func read<T>(_ body: (Database) throws -> T) throws(ClientStoreError) -> T {
        do { return try self.database.read(body) } catch { throw .failed("\(error)") }
    }

    func write<T>(_ body: (Database) throws -> T) throws(ClientStoreError) -> T {
        do { return try self.database.write(body) } catch { throw .failed("\(error)") }
    }

    private static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { database in
            try database.execute(
                sql: """
                    CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
                    CREATE TABLE contacts (
                        id TEXT PRIMARY KEY, name TEXT COLLATE NOCASE UNIQUE, sign_key BLOB NOT NULL, box_key BLOB NOT NULL,
                        is_banned INTEGER NOT NULL, added_at INTEGER NOT NULL);
                    CREATE TABLE messages (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, id_key TEXT NOT NULL,
                        peer TEXT NOT NULL, group_id TEXT, is_outgoing INTEGER NOT NULL,
                        kind TEXT NOT NULL, body TEXT, time INTEGER NOT NULL,
                        state TEXT, attempts INTEGER NOT NULL DEFAULT 0,
                        is_read INTEGER NOT NULL DEFAULT 0, owes_read INTEGER NOT NULL DEFAULT 0,
                        UNIQUE (peer, is_outgoing, id_key));
                    CREATE INDEX messages_outgoing ON messages (id_key) WHERE is_outgoing;
                    CREATE INDEX messages_unsettled ON messages (number) WHERE state IN ('queued', 'sending');
                    CREATE INDEX messages_unread ON messages (peer) WHERE NOT is_outgoing AND NOT is_read;
                    CREATE INDEX messages_owing ON messages (number) WHERE owes_read;
                    CREATE TABLE remembered_ids (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, conversation TEXT NOT NULL, id_key TEXT NOT NULL,
                        UNIQUE (conversation, id_key));
                    CREATE INDEX remembered_ids_order ON remembered_ids (conversation, number);
                    """)
        }
        migrator.registerMigration("2") { database in
            // Whoever has contacts from before there was a backup owes one.
            try database.execute(
                sql: """
                    CREATE TABLE backup_entries (id TEXT PRIMARY KEY, entry TEXT NOT NULL) WITHOUT ROWID;
                    INSERT INTO settings SELECT 'backupChanges', '1' WHERE EXISTS (SELECT 1 FROM contacts);
                    """)
        }
        migrator.registerMigration("3") { database in
            try database.execute(
                sql: """
                    CREATE TABLE quarantine (
                        number INTEGER PRIMARY KEY AUTOINCREMENT, sender TEXT NOT NULL, id_key TEXT NOT NULL,
                        frame TEXT NOT NULL, came_at INTEGER NOT NULL, UNIQUE (sender, id_key));
                    CREATE TABLE quarantine_counts (sender TEXT PRIMARY KEY, count INTEGER NOT NULL) WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("4") { database in
            // Messages in the order of their list. The group's mail is no part of the conversation with its sender.
            try database.execute(
                sql: """
                    CREATE INDEX messages_direct ON messages (peer, number) WHERE group_id IS NULL;
                    DROP INDEX messages_unread;
                    CREATE INDEX messages_unread ON messages (number) WHERE NOT is_outgoing AND NOT is_read;
                    CREATE INDEX messages_unread_direct ON messages (peer, number)
                        WHERE NOT is_outgoing AND NOT is_read AND group_id IS NULL;
                    """)
        }
        migrator.registerMigration("5") { database in
            try database.execute(
                sql: """
                    ALTER TABLE quarantine ADD COLUMN reason TEXT NOT NULL DEFAULT 'unverified';
                    ALTER TABLE quarantine_counts RENAME TO quarantine_counts_before;
                    CREATE TABLE quarantine_counts (
                        sender TEXT NOT NULL, reason TEXT NOT NULL, count INTEGER NOT NULL,
                        PRIMARY KEY (sender, reason)) WITHOUT ROWID;
                    INSERT INTO quarantine_counts SELECT sender, 'unverified', count FROM quarantine_counts_before;
                    DROP TABLE quarantine_counts_before;
                    """)
        }
        migrator.registerMigration("6") { database in
            // Nobody who is here leaves the backup for it.
            try database.execute(sql: "ALTER TABLE contacts ADD COLUMN is_stranger INTEGER NOT NULL DEFAULT 0")
        }
        migrator.registerMigration("7") { try LiveStore.migrate($0) }
        migrator.registerMigration("8") { try RoomStore.migrate($0) }
        migrator.registerMigration("9") { database in
            try database.execute(
                sql: """
                    CREATE TABLE consumers (name TEXT PRIMARY KEY, acked INTEGER NOT NULL) WITHOUT ROWID;
                    CREATE TABLE events (
                        seq INTEGER PRIMARY KEY AUTOINCREMENT, kind TEXT NOT NULL, at INTEGER NOT NULL, subject TEXT,
                        message INTEGER, detail TEXT);
                    """)
        }
        return migrator
    }
}

package enum ClientStoreError: Error, Equatable {
    /// The disk is full, the file is damaged, or no database. Nothing was changed. The text is SQLite's.
    case failed(String)
}
