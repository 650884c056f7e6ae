import FoundationEssentials
import SQLite

/// Everything a client must not forget, in one SQLite file. Each call is one transaction. It is on disk when it returns, but for what the
/// server tells again (`write(waits:)`).
///
/// The calls block; the engine makes them on an executor of its own.
package struct ClientStore: Sendable {
    /// Writes. Reads here find its pages in memory, and wait for a write transaction under way.
    let database: DatabaseQueue
    /// Reads beside a transaction that writes. `nil` while the file is brought up to date.
    private var reader: DatabaseQueue?
    private var readsBeside = false
    private let path: String
    /// `nil` if the file is plain.
    private let unlocked: UnlockedFile?

    /// Opens or creates the file, and brings it up to date. A copy of what it was is kept beside it.
    /// - Parameter key: seals the file. Without one it is plain.
    /// - Throws: `.wrongKey`, `.notADatabase`, `.tooNew`, `.failed`.
    package init(path: String, key: StoreKey? = nil) throws(ClientStoreError) {
        self.path = path
        (self.database, self.unlocked) = try Self.open(path, key: key)
        do throws(ClientStoreError) {
            switch try self.migrations() {
            case .tooNew, .reversible: throw .tooNew
            case .pending: try self.keepCopy()
            case .none: break
            }
            try Self.failing { try Self.migrator.migrate(self.database) }
            if !Self.stepsDown.isEmpty { try self.write { try Self.keep(Self.stepsDown, in: $0) } }
            self.reader = try Self.connect(path, self.unlocked, cache: Self.readerCacheKiB)
        } catch {
            self.close()
            throw error
        }
    }

    /// Opens the file as it is.
    init(unmigrated path: String, key: StoreKey?) throws(ClientStoreError) {
        self.path = path
        (self.database, self.unlocked) = try Self.open(path, key: key)
    }

    private static func open(
        _ path: String, key: StoreKey?
    ) throws(ClientStoreError) -> (DatabaseQueue, UnlockedFile?) {
        let unlocked = try key?.unlock(path)
        if unlocked == nil, UnlockedFile.isSealed(path) { throw .wrongKey }
        try StoreFiles.makePrivate(path)
        return (try Self.connect(path, unlocked, cache: Self.cacheKiB), unlocked)
    }

    /// Pages in memory, opened: of the connection that writes, and of the one that reads beside it.
    private static let cacheKiB = 6_144
    private static let readerCacheKiB = 2_048
    /// Pages in the WAL before they move to the file. A page that changes often is sealed for the file once for all these changes.
    private static let walPages = 4_000

    private static func connect(
        _ path: String, _ unlocked: UnlockedFile?, cache: Int
    ) throws(ClientStoreError) -> DatabaseQueue {
        try Self.failing {
            try DatabaseQueue(path: unlocked?.uri(path) ?? path) { database in
                // A receipt promises that the message is kept: a commit that the disk has not seen is no commit.
                try database.execute(
                    sql: """
                        PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY;
                        PRAGMA secure_delete = ON;
                        PRAGMA cache_size = -\(cache); PRAGMA wal_autocheckpoint = \(Self.walPages);
                        """)
                try database.add(tokenizer: WordTokenizer.self)
            }
        }
    }

    /// The same store for those who must not wait while a page of mail is written: they read what was committed before.
    package var besideWrites: ClientStore {
        var store = self
        store.readsBeside = true
        return store
    }

    /// Runs what SQLite may refuse.
    private static func failing<T>(_ body: () throws -> T) throws(ClientStoreError) -> T {
        do { return try body() } catch {
            throw (error as? DatabaseError)?.resultCode == .notADatabase ? .notADatabase : .failed("\(error)")
        }
    }

    /// How a file stands to this release.
    package enum Migrations: Equatable, Sendable {
        /// There is none yet, or it is as this release writes it.
        case none
        /// So many wait.
        case pending(Int)
        /// A later release has written it, and has left so many steps down.
        case reversible(Int)
        /// A later release has written it, and there is no way back.
        case tooNew
    }

    package static func migrations(path: String, key: StoreKey? = nil) throws(ClientStoreError) -> Migrations {
        let (database, unlocked) = try Self.open(path, key: key)
        defer { withExtendedLifetime(unlocked) { database.close() } }
        return try Self.failing { try Self.migrations(of: database) }
    }

    func migrations() throws(ClientStoreError) -> Migrations {
        try Self.failing { try Self.migrations(of: self.database) }
    }

    private static func migrations(of database: DatabaseQueue) throws -> Migrations {
        try database.read { database in
            let applied = try Self.migrator.appliedIdentifiers(database)
            let unknown = applied.subtracting(Self.migrator.migrations)
            if !unknown.isEmpty { return try Self.superseded(by: unknown, in: database) }
            let pending = Self.migrator.migrations.count { !applied.contains($0) }
            // A file that was just made has nothing to lose.
            return pending == 0 || applied.isEmpty ? .none : .pending(pending)
        }
    }

    // MARK: Copies

    /// Where the copy from before the last migration stands.
    static func copyBeforeMigration(of path: String) -> String { path + ".before" }

    func keepCopy() throws(ClientStoreError) {
        let copy = Self.copyBeforeMigration(of: self.path)
        let partial = copy + StoreFiles.partialSuffix
        StoreFiles.remove(partial)
        try StoreFiles.makePrivate(partial)
        try self.copy(to: self.unlocked?.uri(partial) ?? partial)
        try StoreFiles.settle(partial, as: copy)
    }

    /// Writes a sealed copy under another key, with a file id of its own, to a path where nothing stands.
    /// - Parameters:
    ///   - keys: of the identity, which a plain profile does not keep in its store.
    ///   - isForAnotherDevice: whether it is to come without session and device.
    func copy(
        to path: String, key: StoreKey, keys: IdentityKeys, isForAnotherDevice: Bool
    ) throws(ClientStoreError) {
        StoreFiles.remove(path)
        try StoreFiles.makePrivate(path)
        let unlocked = try key.unlock(path)
        try withExtendedLifetime(unlocked) { () throws(ClientStoreError) in try self.copy(to: unlocked.uri(path)) }
        let copy = try ClientStore(path: path, key: key)
        defer { copy.close() }
        try copy.settings.set(identityKeys: keys)
        if isForAnotherDevice { try copy.settings.forgetDevice() }
    }

    private func copy(to name: String) throws(ClientStoreError) {
        try Self.failing {
            try self.database.writeWithoutTransaction { database in
                try database.execute(sql: "VACUUM INTO ?", arguments: [name])
            }
        }
    }

    /// Rewrites all pages: rests of rows that moved between them go.
    /// - Parameter bytesMax: a larger file stays as it is.
    func vacuum(upTo bytesMax: Int64) throws(ClientStoreError) {
        try Self.failing {
            try self.database.writeWithoutTransaction { database in
                let pages = try Int64.fetchOne(database, sql: "PRAGMA page_count") ?? 0
                let size = try Int64.fetchOne(database, sql: "PRAGMA page_size") ?? 0
                if pages * size <= bytesMax { try database.execute(sql: "VACUUM") }
            }
        }
    }

    /// Moves the write-ahead log into the file and empties it. The copy from before a migration goes, too: it has what was deleted since.
    /// - Returns: `false` while another connection reads an older state. Then the log is as it was.
    func truncateLog() throws(ClientStoreError) -> Bool {
        let isBusy = try Self.failing {
            try self.database.writeWithoutTransaction {
                try Bool.fetchOne($0, sql: "PRAGMA wal_checkpoint(TRUNCATE)") ?? true
            }
        }
        guard !isBusy else { return false }
        StoreFiles.remove(Self.copyBeforeMigration(of: self.path))
        return true
    }

    /// Where sealed files are kept while they are transferred.
    var transferFolder: String { StoreFiles.folder(of: self.path) + "/files" }

    /// Whether each page opens and fits to the others.
    package func isWhole() -> Bool {
        (try? self.database.read { try String.fetchOne($0, sql: "PRAGMA integrity_check") }) == "ok"
    }

    /// Closes the file. Later reads and writes fail.
    func close() {
        self.reader?.close()
        self.database.close()
    }

    func read<T>(_ body: (Database) throws -> T) throws(ClientStoreError) -> T {
        do {
            if self.readsBeside, let reader { return try reader.read(body) }
            // Nobody else writes, and nothing is written meanwhile: these reads need no transaction.
            return try self.database.unsafeRead(body)
        } catch {
            throw .failed("\(error)")
        }
    }

    /// - Parameter waits: for the disk. Without it a power cut may take the transaction back, until the next one that waits. Only for what
    ///   the server tells again.
    func write<T>(waits: Bool = true, _ body: (Database) throws -> T) throws(ClientStoreError) -> T {
        do {
            guard !waits else { return try self.database.write(body) }
            return try self.database.writeWithoutTransaction { database in
                // SQLite obeys these while it prepares them, so a statement that is prepared already would do nothing.
                try database.execute(sql: "PRAGMA synchronous = NORMAL")
                defer { try? database.execute(sql: "PRAGMA synchronous = FULL") }
                return try database.inTransaction { try body(database) }
            }
        } catch {
            throw .failed("\(error)")
        }
    }

    static var migrator: DatabaseMigrator {
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
            // A store with contacts from before there was a backup has one pending.
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
        migrator.registerMigration("changes") { try ChangeTable.migrateChanges($0) }
        migrator.registerMigration("search") { try Self.migrateSearch($0) }
        migrator.registerMigration("signed times") { try Self.migrateSignedTimes($0) }
        migrator.registerMigration("chats") { try Self.migrateChats($0) }
        migrator.registerMigration("marks") { try ContactTable.migrateMarks($0) }
        migrator.registerMigration("verified") { try ContactTable.migrateVerified($0) }
        migrator.registerMigration("groups") { try GroupTable.migrateGroups($0) }
        migrator.registerMigration("files") { try TransferTable.migrateFiles($0) }
        migrator.registerMigration("evidence") { try Self.migrateEvidence($0) }
        migrator.registerMigration("latest messages") { try Self.migrateLatest($0) }
        migrator.registerMigration("words") { try Self.migrateWords($0) }
        migrator.registerMigration("down steps") { try Self.migrateDownSteps($0) }
        // Each further one has its way back in `stepsDown`.
        migrator.registerMigration("word beginnings") { try Self.migrateWordBeginnings($0) }
        migrator.registerMigration("remembered counts") { try Self.migrateRememberedCounts($0) }
        migrator.registerMigration("chat marks") { try Self.migrateChatMarks($0) }
        migrator.registerMigration("live generations") { try LiveStore.migrateGenerations($0) }
        migrator.registerMigration("group newcomers") { try NewcomerTable.migrateNewcomers($0) }
        migrator.registerMigration("erasure") { try ErasureTable.migrateErasure($0) }
        migrator.registerMigration("timers") { try DisappearingTable.migrateTimers($0) }
        migrator.registerMigration("extras") { try ExtrasColumns.migrate($0) }
        migrator.registerMigration("timer notes") { try DisappearingTable.migrateNotes($0) }
        migrator.registerMigration("verification") { try ContactTable.migrateVerification($0) }
        migrator.registerMigration("kept files") { try TransferTable.migrateKept($0) }
        migrator.registerMigration("profile registers") { try ProfileTable.migrate($0) }
        migrator.registerMigration("call notes") { try ChatNoteTable.migrateCalls($0) }
        migrator.registerMigration("gone contacts") { try ContactTable.migrateGone($0) }
        migrator.registerMigration("group notes") { try ChatNoteTable.migrateGroups($0) }
        return migrator
    }
}

package enum ClientStoreError: Error, Equatable {
    /// The disk is full, or the file is damaged. Nothing was changed. The text is SQLite's.
    case failed(String)
    /// The file is sealed with another key, or sealed at all.
    case wrongKey
    /// The file is something else.
    case notADatabase
    /// A later release has written the file.
    case tooNew
}

// MARK: Tables

extension ClientStore {
    package var messages: MessageTable { MessageTable(store: self) }
    package var changes: ChangeTable { ChangeTable(store: self) }
    package var disappearing: DisappearingTable { DisappearingTable(store: self) }
    package var erasure: ErasureTable { ErasureTable(store: self) }
    package var contacts: ContactTable { ContactTable(store: self) }
    package var settings: SettingsTable { SettingsTable(store: self) }
    package var events: EventTable { EventTable(store: self) }
    package var transfers: TransferTable { TransferTable(store: self) }
    package var groups: GroupTable { GroupTable(store: self) }
    package var newcomers: NewcomerTable { NewcomerTable(store: self) }
    package var deliveries: DeliveryTable { DeliveryTable(store: self) }
}
