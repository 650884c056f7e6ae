import Foundation
import Testing

@testable import SQLite

@Suite struct DatabaseTests {
    private func made(_ sql: String = "CREATE TABLE t (a, b)") throws -> DatabaseQueue {
        try DatabaseQueue { try $0.execute(sql: sql) }
    }

    private func code(_ body: () throws -> Void) -> ResultCode? {
        do { try body() } catch { return (error as? DatabaseError)?.resultCode }
        return nil
    }

    @Test(arguments: [
        DatabaseValue.null, .integer(.min), .integer(.max), .real(-0.5), .text(""), .text("a\u{0}b"), .text("日本"),
        .blob([]), .blob([0, 255]),
    ])
    func aValueComesBackAsItWas(value: DatabaseValue) throws {
        try self.made().write { database in
            try database.run(sql: "INSERT INTO t VALUES (?, 1)", arguments: [value])
            let row = try #require(try Row.fetchOne(database, sql: "SELECT a, b FROM t"))
            #expect(row.databaseValues == [value, .integer(1)])
            #expect(row["a"] as DatabaseValue == value)
        }
    }

    /// A damaged store ends no process.
    @Test func aValueOfAnotherKindIsEmpty() throws {
        try self.made().write { database in
            try database.run(sql: "INSERT INTO t VALUES (?, ?)", arguments: [nil, "text"])
            let row = try #require(try Row.fetchOne(database, sql: "SELECT a, b FROM t"))
            #expect(row["a"] as Int64 == 0 && row["a"] as String == "" && row["a"] as Int? == nil)
            #expect(row["b"] as Int == 0 && row["b"] as [UInt8] == [] && row["b"] as Bool? == nil)
            #expect(row["b"] as String? == "text")
            #expect(try String.fetchOne(database, sql: "SELECT a FROM t") == nil)
            #expect(try Int.fetchAll(database, sql: "SELECT 1 UNION SELECT NULL UNION SELECT 2") == [1, 2])
        }
    }

    @Test func argumentsAreCounted() throws {
        try self.made().write { database in
            for arguments: StatementArguments in [[], [1], [1, 2, 3]] {
                #expect(
                    self.code { try database.run(sql: "INSERT INTO t VALUES (?, ?)", arguments: arguments) } == .misuse)
                #expect(
                    self.code { try database.execute(sql: "INSERT INTO t VALUES (?, ?)", arguments: arguments) }
                        == .misuse
                )
            }
            try database.execute(
                sql: "DELETE FROM t; INSERT INTO t VALUES (?, ?); UPDATE t SET b = ? -- the end", arguments: [1, 2, 3])
            #expect(
                try Row.fetchAll(database, sql: "SELECT * FROM t").map(\.databaseValues) == [
                    [.integer(1), .integer(3)]
                ])
        }
    }

    /// Values are people's messages.
    @Test func anErrorHasTheStatementAndNoValue() throws {
        let queue = try self.made("CREATE TABLE t (a UNIQUE, b NOT NULL)")
        do {
            try queue.write { try $0.run(sql: "INSERT INTO t VALUES (?, ?)", arguments: ["secret", nil]) }
            Issue.record("NULL was taken")
        } catch {
            #expect(
                "\(error)"
                    == "SQLite error 19: NOT NULL constraint failed: t.b - while executing `INSERT INTO t VALUES (?, ?)`"
            )
        }
    }

    @Test func aWordInDoubleQuotesIsAName() throws {
        let queue = try self.made()
        #expect(throws: DatabaseError.self) {
            try queue.read { try Int.fetchOne($0, sql: "SELECT \"nothing\" FROM t") }
        }
    }

    @Test func aFileThatCannotBeMadeIsRefused() {
        #expect(self.code { _ = try DatabaseQueue(path: "/dev/null/none/file.db") } == .cannotOpen)
    }

    @Test func whatIsClosedAnswersSo() throws {
        let queue = try self.made()
        try queue.write { try $0.run(sql: "INSERT INTO t VALUES (1, 2)") }
        queue.close()
        queue.close()
        #expect(self.code { try queue.write { try $0.run(sql: "DELETE FROM t") } } == .misuse)
        #expect(self.code { _ = try queue.unsafeRead { try Int.fetchOne($0, sql: "SELECT 1") } } == .misuse)
    }

    @Test func noMoreStatementsAreKeptThanSaid() throws {
        try self.made().write { database throws in
            for number in 0..<2 * Database.statementsMax {
                #expect(try Int.fetchOne(database, sql: "SELECT \(number)") == number)
                #expect(database.statementsCount <= Database.statementsMax)
            }
        }
    }

    // MARK: Transactions

    private struct Refusal: Error {}

    @Test func whatThrowsChangesNothing() throws {
        let queue = try self.made()
        #expect(throws: Refusal.self) {
            try queue.write { database in
                try database.run(sql: "INSERT INTO t VALUES (1, 2)")
                throw Refusal()
            }
        }
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 0)
        try queue.write { try $0.run(sql: "INSERT INTO t VALUES (1, 2)") }
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM t") } == 1)
    }

    /// As a full disk may take it back. The body has not noticed.
    @Test func nothingIsKeptOfATransactionThatWasTakenBack() throws {
        let queue = try self.made("CREATE TABLE t (a UNIQUE, b); INSERT INTO t VALUES (1, 1)")
        #expect(
            self.code {
                try queue.write { database in
                    try database.run(sql: "INSERT INTO t VALUES (2, 2)")
                    try? database.run(sql: "INSERT OR ROLLBACK INTO t VALUES (1, 3)")
                    try database.run(sql: "INSERT INTO t VALUES (4, 4)")
                }
            } == .abort)
        #expect(try queue.read { try Int.fetchAll($0, sql: "SELECT a FROM t") } == [1])
    }

    @Test func manyThreadsWriteOneAfterTheOther() throws {
        let queue = try self.made("CREATE TABLE t (a INTEGER); INSERT INTO t VALUES (0)")
        DispatchQueue.concurrentPerform(iterations: 100) { _ in
            try? queue.write { database in
                let number = try Int.fetchOne(database, sql: "SELECT a FROM t") ?? 0
                try database.run(sql: "UPDATE t SET a = ?", arguments: [number + 1])
            }
        }
        #expect(try queue.read { try Int.fetchOne($0, sql: "SELECT a FROM t") } == 100)
    }

    // MARK: Migrations

    @Test func eachStepIsDoneOnce() throws {
        let queue = try DatabaseQueue()
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { try $0.execute(sql: "CREATE TABLE t (a); INSERT INTO t VALUES (1)") }
        try migrator.migrate(queue)
        // A statement that was prepared before has the columns of after.
        migrator.registerMigration("2") { database in
            _ = try Row.fetchAll(database, sql: "SELECT * FROM t")
            try database.execute(sql: "ALTER TABLE t ADD COLUMN b DEFAULT 2")
        }
        try migrator.migrate(queue)
        try migrator.migrate(queue)
        try queue.read { database in
            #expect(try migrator.appliedIdentifiers(database) == ["1", "2"])
            let rows = try Row.fetchAll(database, sql: "SELECT * FROM t")
            #expect(rows.count == 1 && rows[0]["b"] as Int == 2)
        }
    }

    @Test func aStepThatFailsIsNotDone() throws {
        let queue = try DatabaseQueue()
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1") { try $0.execute(sql: "CREATE TABLE t (a)") }
        migrator.registerMigration("2") { try $0.execute(sql: "CREATE TABLE u (a); CREATE TABLE t (a)") }
        #expect(throws: DatabaseError.self) { try migrator.migrate(queue) }
        try queue.read { database throws in
            #expect(try migrator.appliedIdentifiers(database) == ["1"])
            #expect(try database.tableExists("t"))
            #expect(try !database.tableExists("u"))
        }
    }
}
