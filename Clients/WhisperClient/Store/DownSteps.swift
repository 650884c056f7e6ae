import Contract
import SQLite

/// How a release that does not know a migration undoes it.
struct StepDown: Sendable {
    /// The identifier of the migration.
    var migration: String
    var sql: String
}

/// The only code that reads or writes `down_steps`: what undoes each migration since "down steps".
///
/// The release that makes a migration leaves its way back in the store. An earlier release, which does not know the migration,
/// can go it: `yesUpDown`.
extension ClientStore {
    static func migrateDownSteps(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE down_steps (
                    number INTEGER PRIMARY KEY AUTOINCREMENT, migration TEXT NOT NULL UNIQUE, sql TEXT NOT NULL)
                """)
    }

    /// The way back of each migration behind "down steps", in their order. Data that a step drops is lost.
    static let stepsDown = [
        Self.undoWordBeginnings, Self.undoRememberedCounts, Self.undoChatMarks, LiveStore.undoGenerations,
        NewcomerTable.undoNewcomers, ErasureTable.undoErasure, DisappearingTable.undoTimers,
        ExtrasColumns.undo, DisappearingTable.undoNotes, ContactTable.undoVerification,
        TransferTable.undoKept, ProfileTable.undo, ChatNoteTable.undoCalls, ContactTable.undoGone,
        ChatNoteTable.undoGroups,
    ]

    static func keep(_ steps: [StepDown], in database: Database) throws {
        for step in steps {
            try database.run(
                sql: "INSERT INTO down_steps (migration, sql) VALUES (?, ?) ON CONFLICT DO NOTHING",
                arguments: [step.migration, step.sql])
        }
    }

    /// Undoes the migrations of a later release, the latest first. A copy of what the store was is kept beside it.
    /// - Throws: `.tooNew` if a step is missing. Nothing was changed then.
    package static func stepDown(path: String, key: StoreKey? = nil) throws(ClientStoreError) {
        let store = try ClientStore(unmigrated: path, key: key)
        defer { store.close() }
        guard case .reversible = try store.migrations() else { throw .tooNew }
        try store.keepCopy()
        try store.write { database in
            for step in try Self.unknownSteps(in: database).reversed() {
                try database.execute(sql: step.sql)
                try database.run(
                    sql: "DELETE FROM grdb_migrations WHERE identifier = ?", arguments: [step.migration])
                try database.run(sql: "DELETE FROM down_steps WHERE migration = ?", arguments: [step.migration])
            }
        }
    }

    /// Steps of migrations that this release does not know, the earliest first.
    private static func unknownSteps(in database: Database) throws -> [StepDown] {
        guard try database.tableExists("down_steps") else { return [] }
        let known = Set(Self.migrator.migrations)
        return try Row.fetchAll(database, sql: "SELECT migration, sql FROM down_steps ORDER BY number")
            .map { StepDown(migration: $0["migration"], sql: $0["sql"]) }
            .filter { !known.contains($0.migration) }
    }

    /// How a store stands that has migrations of a later release.
    /// - Parameter unknown: these migrations.
    static func superseded(by unknown: Set<String>, in database: Database) throws -> Migrations {
        let steps = try Self.unknownSteps(in: database)
        return Set(steps.map(\.migration)) == unknown ? .reversible(steps.count) : .tooNew
    }
}
