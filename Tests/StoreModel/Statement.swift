@testable package import Store

/// The parameters of one statement, as they travel.
package struct Parameters {
    private let bytes: [[UInt8]?]

    package init(_ bytes: [[UInt8]?]) { self.bytes = bytes }

    /// - Parameter number: from 1, as in the text.
    package func callAsFunction<T: PostgresDecodable>(_ number: Int, _: T.Type = T.self) -> T {
        func decoded(_ cell: PostgresCell) -> T {
            guard let value = T(postgres: cell) else { preconditionFailure("parameter \(number) is no \(T.self)") }
            return value
        }
        guard let bytes = self.bytes[number - 1] else { return decoded(PostgresCell(bytes: nil)) }
        return bytes.withUnsafeBytes { decoded(PostgresCell(bytes: $0)) }
    }
}

/// What a statement answers, as it travels.
package struct StatementAnswer: Equatable {
    /// Of each column.
    package var types: [UInt32] = []
    package var rows: [[[UInt8]?]] = []
    package var affected = 0

    package init() {}
}

/// Builds an answer row by row.
package struct Columns {
    package private(set) var types: [UInt32] = []
    package private(set) var cells: [[UInt8]?] = []

    package init() {}

    package mutating func add<T: PostgresEncodable>(_ value: T) {
        var writer = PostgresWriter()
        value.encode(into: &writer)
        self.types.append(T.postgresType.oid)
        // A length in front, −1 for NULL.
        self.cells.append(writer.bytes[0] == 0xFF ? nil : Array(writer.bytes[4...]))
    }
}

extension StatementAnswer {
    /// - Parameter columns: the values of each row.
    package init<Element>(_ elements: some Sequence<Element>, columns: (Element, inout Columns) -> Void) {
        self.init()
        for element in elements {
            var row = Columns()
            columns(element, &row)
            self.types = row.types
            self.rows.append(row.cells)
        }
        self.affected = self.rows.count
    }

    /// Rows changed, and none shown.
    static func changed(_ count: Int) -> StatementAnswer {
        var answer = StatementAnswer()
        answer.affected = count
        return answer
    }
    static let nothing = StatementAnswer()
}

/// The server takes a statement for wrong.
package enum Refused: Error, Equatable {
    case unique(constraint: String)
}
