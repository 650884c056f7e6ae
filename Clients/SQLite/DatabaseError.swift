import CSQLite

/// A refusal by SQLite. Its text names tables and columns, and no bound value.
package struct DatabaseError: Error, CustomStringConvertible {
    /// With what SQLite adds to it: a byte of its kind, and one that says more.
    package let extendedResultCode: ResultCode
    package let message: String
    package let sql: String?

    init(_ code: ResultCode, _ message: String, sql: String? = nil) {
        self.extendedResultCode = code
        self.message = message
        self.sql = sql
    }

    package var resultCode: ResultCode { self.extendedResultCode.primary }

    package var description: String {
        let place = self.sql.map { " - while executing `\($0)`" } ?? ""
        return "SQLite error \(self.resultCode.rawValue): \(self.message)\(place)"
    }
}

/// A number of SQLite's (https://www.sqlite.org/rescode.html).
package struct ResultCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: CInt

    package init(rawValue: CInt) { self.rawValue = rawValue }

    var primary: ResultCode { ResultCode(rawValue: self.rawValue & 0xFF) }

    static let ok = ResultCode(rawValue: SQLITE_OK)
    static let row = ResultCode(rawValue: SQLITE_ROW)
    static let done = ResultCode(rawValue: SQLITE_DONE)
    /// A transaction was taken back in its midst.
    package static let abort = ResultCode(rawValue: SQLITE_ABORT)
    package static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
    package static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)
    /// A closed connection, or arguments that are too many or too few.
    package static let misuse = ResultCode(rawValue: SQLITE_MISUSE)
}
