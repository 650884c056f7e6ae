/// A row that was read.
package struct Row {
    /// The names of all rows of a statement.
    final class Columns {
        let names: [String]
        init(_ names: [String]) { self.names = names }
    }

    let columns: Columns
    package let databaseValues: [DatabaseValue]

    /// The value of a column that the statement names. One of another kind is the kind's empty value.
    package subscript<Value: DatabaseValueConvertible>(_ name: String) -> Value {
        guard let index = self.columns.names.firstIndex(of: name) else {
            preconditionFailure("The statement has no column \(name).")
        }
        return Value.reading(self.databaseValues[index]) ?? Value.absent
    }

    package static func fetchAll(
        _ database: Database, sql: String, arguments: StatementArguments = []
    ) throws -> [Row] {
        try database.cachedStatement(sql: sql).rows(arguments)
    }

    package static func fetchOne(
        _ database: Database, sql: String, arguments: StatementArguments = []
    ) throws -> Row? {
        try database.cachedStatement(sql: sql).rows(arguments, limit: 1).first
    }
}

// The first column. NULL and values of another kind are left out.
extension DatabaseValueConvertible {
    package static func fetchAll(
        _ database: Database, sql: String, arguments: StatementArguments = []
    ) throws -> [Self] {
        try database.cachedStatement(sql: sql).values(arguments).compactMap { Self.reading($0) }
    }

    package static func fetchOne(
        _ database: Database, sql: String, arguments: StatementArguments = []
    ) throws -> Self? {
        try database.cachedStatement(sql: sql).values(arguments, limit: 1).first.flatMap { Self.reading($0) }
    }
}
