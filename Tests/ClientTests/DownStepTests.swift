import Contract
import Foundation
import SQLite
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// A store that a later release has changed.
@Suite struct DownStepTests {
    let folder: TemporaryFolder
    let server = FakeServer()
    let key = StoreKey(.raw, [UInt8](repeating: 1, count: 32))

    init() throws { self.folder = try TemporaryFolder() }

    private var path: String { self.folder.path + "/whisper.sqlite" }

    /// Two migrations, of which the second needs the first one.
    private static let changes = [
        ("later 1", "CREATE TABLE later (name TEXT)", "DROP TABLE later"),
        ("later 2", "CREATE INDEX later_name ON later (name)", "DROP INDEX later_name"),
    ]

    private func change(path: String, key: StoreKey?, hasSteps: Bool = true) throws {
        let store = try ClientStore(path: path, key: key)
        defer { store.close() }
        try store.write { database in
            for (name, up, down) in Self.changes {
                try database.execute(sql: up)
                try database.execute(sql: "INSERT INTO grdb_migrations VALUES (?)", arguments: [name])
                guard hasSteps || name == "later 1" else { continue }
                try ClientStore.keep([StepDown(migration: name, sql: down)], in: database)
            }
        }
    }

    @Test func itIsBroughtBackAndACopyStays() throws {
        try self.change(path: self.path, key: self.key)
        #expect(throws: ClientStoreError.tooNew) { try ClientStore(path: self.path, key: self.key) }
        #expect(try ClientStore.migrations(path: self.path, key: self.key) == .reversible(2))
        try ClientStore.stepDown(path: self.path, key: self.key)
        let store = try ClientStore(path: self.path, key: self.key)
        #expect(try store.read { try !$0.tableExists("later") })
        let steps = try store.read { try String.fetchAll($0, sql: "SELECT migration FROM down_steps ORDER BY number") }
        #expect(steps == ClientStore.stepsDown.map(\.migration))
        store.close()
        #expect(
            try ClientStore.migrations(path: ClientStore.copyBeforeMigration(of: self.path), key: self.key)
                == .reversible(2))
        #expect(throws: ClientStoreError.tooNew) { try ClientStore.stepDown(path: self.path, key: self.key) }
    }

    @Test func withAStepMissingNothingIsChanged() throws {
        try self.change(path: self.path, key: self.key, hasSteps: false)
        #expect(try ClientStore.migrations(path: self.path, key: self.key) == .tooNew)
        #expect(throws: ClientStoreError.tooNew) { try ClientStore.stepDown(path: self.path, key: self.key) }
        #expect(throws: ClientStoreError.tooNew) { try ClientStore(path: self.path, key: self.key) }
        let store = try ClientStore(unmigrated: self.path, key: self.key)
        #expect(try store.read { try $0.tableExists("later") })
        store.close()
    }

    @Test func aFailingStepChangesNothing() throws {
        try self.change(path: self.path, key: nil)
        let later = try ClientStore(unmigrated: self.path, key: nil)
        try later.write {
            try $0.execute(sql: "UPDATE down_steps SET sql = 'DROP TABLE nothing' WHERE migration = 'later 1'")
        }
        later.close()
        #expect(throws: ClientStoreError.self) { try ClientStore.stepDown(path: self.path) }
        #expect(try ClientStore.migrations(path: self.path) == .reversible(2))
    }

    /// The steps of this release, gone by one that knows none of its migrations. Then it goes up again.
    @Test func ourOwnStepsGoBack() throws {
        try ClientStore(path: self.path, key: self.key).close()
        let store = try ClientStore(unmigrated: self.path, key: self.key)
        let schema = "SELECT name FROM sqlite_schema ORDER BY name"
        let before = try store.read { try String.fetchAll($0, sql: schema) }
        try store.write { database in
            for step in ClientStore.stepsDown.reversed() {
                try database.execute(sql: step.sql)
                try database.execute(
                    sql: "DELETE FROM grdb_migrations WHERE identifier = ?", arguments: [step.migration])
            }
        }
        #expect(try store.read { try String.fetchAll($0, sql: schema) } != before)
        store.close()
        let again = try ClientStore(path: self.path, key: self.key)
        #expect(try again.read { try String.fetchAll($0, sql: schema) } == before)
        again.close()
    }

    @Test func eachNewMigrationHasAStep() {
        let migrations = ClientStore.migrator.migrations
        #expect(
            migrations.drop { $0 != "down steps" }.dropFirst().elementsEqual(ClientStore.stepsDown.map(\.migration)))
    }

    @Test func aCoreGoesBackOnlyIfTold() async throws {
        let folder = self.folder.path + "/ann"
        func open(_ confirmation: CoreConfiguration.Confirmation) throws(CoreError) -> Core {
            let configuration = CoreConfiguration(folder: folder, server: "ws://127.0.0.1:1")
            return try Core.open(configuration, confirmation: confirmation)
        }
        let core = try open(.error)
        _ = await core.perform("identity_create")
        await core.close()
        try self.change(path: folder + "/whisper.sqlite", key: nil)
        for confirmation in [CoreConfiguration.Confirmation.error, .yesUp] {
            #expect { _ = try open(confirmation) } throws: { error in
                (error as? CoreError)?.code == .needsDowngrade && (error as? CoreError)?.steps == 2
            }
        }
        await (try open(.yesUpDown)).close()
        await (try open(.error)).close()
    }
}
