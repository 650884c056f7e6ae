import CSQLite

/// A prepared statement of one connection.
package final class Statement {
    private unowned let database: Database
    private let handle: OpaquePointer
    let sql: String
    /// Columns of its rows. Empty if the statement returns none.
    private lazy var columns = Row.Columns(
        (0..<sqlite3_column_count(self.handle)).map { String(cString: sqlite3_column_name(self.handle, $0)) })

    init(_ handle: OpaquePointer, sql: String, of database: Database) {
        self.handle = handle
        self.sql = sql
        self.database = database
    }

    deinit { sqlite3_finalize(self.handle) }

    /// How many values it wants.
    var argumentCount: Int { Int(sqlite3_bind_parameter_count(self.handle)) }

    /// Runs it to its end, and lets its rows go.
    package func execute(arguments: StatementArguments = []) throws {
        try self.run(arguments.values) { _ in true }
    }

    /// - Parameter row: says whether there is to be another one.
    func run(_ arguments: some Collection<DatabaseValue>, row: (borrowing Columns) throws -> Bool) throws {
        try self.database.checkTransaction()
        guard arguments.count == self.argumentCount else {
            throw DatabaseError(.misuse, "\(arguments.count) arguments for \(self.argumentCount)", sql: self.sql)
        }
        // Bound values do not stay in memory, and an idle statement locks nothing.
        defer {
            sqlite3_reset(self.handle)
            sqlite3_clear_bindings(self.handle)
        }
        for (index, value) in arguments.enumerated() { try self.bind(value, at: CInt(index + 1)) }
        while true {
            let code = ResultCode(rawValue: sqlite3_step(self.handle))
            switch code {
            case .row: if try !row(Columns(handle: self.handle)) { return }
            case .done: return
            default: throw self.database.error(code, sql: self.sql)
            }
        }
    }

    private func bind(_ value: DatabaseValue, at place: CInt) throws {
        let code =
            switch value {
            case .null: sqlite3_bind_null(self.handle, place)
            case .integer(let number): sqlite3_bind_int64(self.handle, place, number)
            case .real(let number): sqlite3_bind_double(self.handle, place, number)
            case .text(var text):
                text.withUTF8 { csqlite_bind_text(self.handle, place, $0.baseAddress, CInt($0.count)) }
            case .blob(let bytes):
                bytes.withUnsafeBytes { csqlite_bind_blob(self.handle, place, $0.baseAddress, CInt($0.count)) }
            }
        guard code == SQLITE_OK else { throw self.database.error(ResultCode(rawValue: code), sql: self.sql) }
    }

    /// The values of the row that the statement stands at.
    struct Columns: ~Copyable {
        let handle: OpaquePointer

        subscript(_ column: CInt) -> DatabaseValue {
            switch sqlite3_column_type(self.handle, column) {
            case SQLITE_INTEGER: .integer(sqlite3_column_int64(self.handle, column))
            case SQLITE_FLOAT: .real(sqlite3_column_double(self.handle, column))
            case SQLITE_TEXT:
                .text(String(decoding: self.bytes(sqlite3_column_text(self.handle, column), column), as: UTF8.self))
            case SQLITE_BLOB: .blob(Array(self.bytes(sqlite3_column_blob(self.handle, column), column)))
            default: .null
            }
        }

        private func bytes(_ start: UnsafeRawPointer?, _ column: CInt) -> UnsafeRawBufferPointer {
            UnsafeRawBufferPointer(
                start: start, count: start == nil ? 0 : Int(sqlite3_column_bytes(self.handle, column)))
        }
    }

    /// - Parameter limit: of rows.
    func rows(_ arguments: StatementArguments, limit: Int = .max) throws -> [Row] {
        var rows: [Row] = []
        try self.run(arguments.values) { columns in
            rows.append(
                Row(columns: self.columns, databaseValues: self.columns.names.indices.map { columns[CInt($0)] }))
            return rows.count < limit
        }
        return rows
    }

    /// The first column of each row.
    /// - Parameter limit: of rows.
    func values(_ arguments: StatementArguments, limit: Int = .max) throws -> [DatabaseValue] {
        var values: [DatabaseValue] = []
        try self.run(arguments.values) { columns in
            values.append(columns[0])
            return values.count < limit
        }
        return values
    }
}
