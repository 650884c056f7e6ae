import GRDB

// Statements that are prepared once for each connection. To prepare one takes longer than to run it: an insert into `messages` has
// all triggers in it.

extension Database {
    /// Runs one statement that gives no rows.
    func run(sql: String, arguments: StatementArguments = StatementArguments()) throws {
        try self.cachedStatement(sql: sql).execute(arguments: arguments)
    }
}

// They are chosen before those of GRDB, which prepare each time: these take one parameter less.

extension Row {
    static func fetchAll(
        _ database: Database, sql: String, arguments: StatementArguments = StatementArguments()
    ) throws -> [Row] {
        try self.fetchAll(database.cachedStatement(sql: sql), arguments: arguments)
    }

    static func fetchOne(
        _ database: Database, sql: String, arguments: StatementArguments = StatementArguments()
    ) throws -> Row? {
        try self.fetchOne(database.cachedStatement(sql: sql), arguments: arguments)
    }
}

extension DatabaseValueConvertible where Self: StatementColumnConvertible {
    static func fetchAll(
        _ database: Database, sql: String, arguments: StatementArguments = StatementArguments()
    ) throws -> [Self] {
        try self.fetchAll(database.cachedStatement(sql: sql), arguments: arguments)
    }

    static func fetchOne(
        _ database: Database, sql: String, arguments: StatementArguments = StatementArguments()
    ) throws -> Self? {
        try self.fetchOne(database.cachedStatement(sql: sql), arguments: arguments)
    }
}
