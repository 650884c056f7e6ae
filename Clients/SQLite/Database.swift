import CSQLite

/// One connection. Only a `DatabaseQueue` hands it out, to one caller at a time.
package final class Database {
    /// Statements kept prepared. Beyond it all are prepared anew: texts of statements that lists of values make differ.
    static let statementsMax = 512

    private var connection: OpaquePointer?
    private var statements: [String: Statement] = [:]
    private var isInTransaction = false

    /// - Parameter busyMilliseconds: how long another connection that writes is waited for.
    /// - Throws: `DatabaseError`. Nothing is open then.
    init(path: String, busyMilliseconds: CInt) throws(DatabaseError) {
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI
        let code = sqlite3_open_v2(path, &self.connection, flags, nil)
        guard code == SQLITE_OK, let connection else {
            let error = self.error(ResultCode(rawValue: code))
            // `deinit` runs too, and has nothing left to close.
            self.close()
            throw error
        }
        sqlite3_extended_result_codes(connection, 1)
        sqlite3_busy_timeout(connection, busyMilliseconds)
        csqlite_take_double_quotes_as_names(connection)
    }

    deinit { self.close() }

    /// Later calls throw `.misuse`.
    func close() {
        self.statements = [:]
        sqlite3_close_v2(self.connection)
        self.connection = nil
    }

    /// The connection as SQLite knows it.
    /// - Throws: `.misuse` once it is closed.
    package var handle: OpaquePointer {
        get throws(DatabaseError) {
            guard let connection else { throw DatabaseError(.misuse, "the connection is closed") }
            return connection
        }
    }

    func error(_ code: ResultCode, sql: String? = nil) -> DatabaseError {
        let message = self.connection.flatMap { sqlite3_errmsg($0) }.map { String(cString: $0) }
        return DatabaseError(code, message ?? String(cString: sqlite3_errstr(code.rawValue)), sql: sql)
    }

    // MARK: Statements

    /// Runs statements that are divided by `;`, each prepared anew.
    /// - Parameter arguments: of all of them.
    /// - Throws: `DatabaseError`. Statements that ran before stay applied, unless a transaction takes them back.
    package func execute(sql: String, arguments: StatementArguments = []) throws {
        let connection = try self.handle
        var arguments = arguments.values[...]
        var text = sql
        try text.withUTF8 { text in
            try text.withMemoryRebound(to: CChar.self) { text in
                guard var place = text.baseAddress else { return }
                let end = place + text.count
                while place < end {
                    var (prepared, tail): (OpaquePointer?, UnsafePointer<CChar>?) = (nil, nil)
                    let code = sqlite3_prepare_v3(connection, place, CInt(end - place), 0, &prepared, &tail)
                    guard code == SQLITE_OK else { throw self.error(ResultCode(rawValue: code), sql: sql) }
                    place = tail ?? end
                    // Spaces or a comment.
                    guard let prepared else { continue }
                    let statement = Statement(prepared, sql: sql, of: self)
                    try statement.run(arguments.prefix(statement.argumentCount)) { _ in true }
                    arguments = arguments.dropFirst(statement.argumentCount)
                }
            }
        }
        guard arguments.isEmpty else { throw DatabaseError(.misuse, "arguments are left", sql: sql) }
    }

    /// Runs one statement that gives no rows. It is prepared once for each connection. To prepare one takes longer than to run it: an
    /// insert into `messages` has all triggers in it.
    package func run(sql: String, arguments: StatementArguments = []) throws {
        try self.cachedStatement(sql: sql).execute(arguments: arguments)
    }

    /// One statement, prepared once.
    package func cachedStatement(sql: String) throws -> Statement {
        if let statement = self.statements[sql] { return statement }
        let connection = try self.handle
        var prepared: OpaquePointer?
        let code = sqlite3_prepare_v3(connection, sql, -1, CUnsignedInt(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard code == SQLITE_OK, let prepared else { throw self.error(ResultCode(rawValue: code), sql: sql) }
        if self.statements.count >= Self.statementsMax { self.forgetStatements() }
        let statement = Statement(prepared, sql: sql, of: self)
        self.statements[sql] = statement
        return statement
    }

    /// Prepares them anew. A `SELECT *` that was prepared before a table changed has its old columns.
    func forgetStatements() { self.statements = [:] }

    /// How many are prepared and kept.
    var statementsCount: Int { self.statements.count }

    /// Rows that the last statement has changed, without those of triggers.
    package var changesCount: Int { self.connection.map { Int(sqlite3_changes($0)) } ?? 0 }

    package var lastInsertedRowID: Int64 { self.connection.map { sqlite3_last_insert_rowid($0) } ?? 0 }

    package func tableExists(_ name: String) throws -> Bool {
        try Bool.fetchOne(
            self, sql: "SELECT EXISTS (SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ? COLLATE NOCASE)",
            arguments: [name]) ?? false
    }

    // MARK: Transactions

    package enum TransactionKind: String {
        /// Sees one state of the store. Becomes a writing one with its first change.
        case deferred = "BEGIN DEFERRED"
        /// Nobody else writes from its begin on.
        case immediate = "BEGIN IMMEDIATE"
    }

    /// - Throws: what `body` throws, or SQLite. Nothing was changed then.
    package func inTransaction<T>(_ kind: TransactionKind = .immediate, _ body: () throws -> T) throws -> T {
        try self.run(sql: kind.rawValue)
        self.isInTransaction = true
        defer { self.isInTransaction = false }
        do {
            let result = try body()
            try self.run(sql: "COMMIT")
            return result
        } catch {
            self.isInTransaction = false
            if let connection, sqlite3_get_autocommit(connection) == 0 { try? self.run(sql: "ROLLBACK") }
            throw error
        }
    }

    /// A full disk ends a transaction midway. Later statements must not be kept without the earlier ones.
    func checkTransaction() throws(DatabaseError) {
        guard self.isInTransaction, let connection, sqlite3_get_autocommit(connection) != 0 else { return }
        throw DatabaseError(.abort, "the transaction was taken back")
    }
}
