import LocalStack
import Store
import Testing

@Suite struct MigratorTests {
    private let first = Migration(
        version: 1, name: "first", sql: Array("CREATE TABLE shop.box (id int8); CREATE TABLE shop.lid (id int8);".utf8))
    private let second = Migration(version: 2, name: "second", sql: Array("INSERT INTO shop.box VALUES (1), (2)".utf8))

    @Test func stepsAreAppliedOnceInOrder() async throws {
        try await withDatabase { database in
            let one = Migrator(schema: "shop", migrations: [first])
            let both = Migrator(schema: "shop", migrations: [second, first])
            var applied: [[Int32]] = []
            // An older release, the last one here, does not mind newer steps.
            for migrator in [one, both, both, one] {
                applied.append(try await migrator.run(database.configuration, logger: quiet))
            }
            #expect(applied == [[1], [2], [], []])
            let count = try await database.run("SELECT count(*) FROM shop.box")
            #expect(count == "2")
        }
    }

    @Test func severalAtOnceApplyEachStepOnce() async throws {
        try await withDatabase { database in
            let migrator = Migrator(schema: "shop", migrations: [first, second])
            let applied = try await withThrowingTaskGroup(of: [Int32].self) { group in
                for _ in 0..<4 { group.addTask { try await migrator.run(database.configuration, logger: quiet) } }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(applied.sorted() == [1, 2])
        }
    }

    @Test func aChangedStepIsAnError() async throws {
        try await withDatabase { database in
            try await Migrator(schema: "shop", migrations: [first]).run(database.configuration, logger: quiet)
            let changed = Migration(version: 1, name: "first", sql: first.sql + Array(" ".utf8))
            await #expect(throws: MigrationError.changed(version: 1)) {
                try await Migrator(schema: "shop", migrations: [changed, second]).run(
                    database.configuration, logger: quiet)
            }
            let count = try await database.run("SELECT count(*) FROM shop.box")
            #expect(count == "0")
        }
    }

    /// The steps of one schema may come from two cores: neither may take the other's for its own.
    @Test func aVersionIsGivenOnce() async throws {
        try await withDatabase { database in
            let other = Migration(version: 2, name: "other", sql: self.second.sql)
            await #expect(throws: MigrationError.repeated(version: 2)) {
                try await Migrator(schema: "shop", migrations: [first, second, other]).run(
                    database.configuration, logger: quiet)
            }
            let isThere = try await database.run("SELECT to_regnamespace('shop') IS NOT NULL")
            #expect(isThere == "f")
        }
    }

    @Test func aStepThatFailsLeavesNothingOfItself() async throws {
        try await withDatabase { database in
            let broken = Migration(
                version: 2, name: "broken", sql: Array("CREATE TABLE shop.cup (id int8); SELECT nonsense".utf8))
            await #expect {
                try await Migrator(schema: "shop", migrations: [first, broken]).run(
                    database.configuration, logger: quiet)
            } throws: {
                guard case .failed(version: 2, .refused("42703", _))? = $0 as? MigrationError else { return false }
                return true
            }
            let tables = try await database.run(
                "SELECT to_regclass('shop.box') IS NOT NULL, to_regclass('shop.cup') IS NULL")
            #expect(tables == "t|t")
        }
    }
}
