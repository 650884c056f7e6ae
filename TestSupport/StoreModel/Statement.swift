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

/// A statement's answer, as it travels.
package struct StatementAnswer: Equatable {
    package private(set) var rowCount = 0
    package private(set) var affected = 0
    private var columns = Columns()

    package init() {}

    /// - Parameter columns: adds the values of a row.
    package init<Element>(_ elements: some Sequence<Element>, columns: (Element, inout Columns) -> Void) {
        for element in elements {
            columns(element, &self.columns)
            self.columns.areTyped = true
            self.rowCount += 1
        }
        self.affected = self.rowCount
    }

    /// Rows changed, and none shown.
    static func changed(_ count: Int) -> StatementAnswer {
        var answer = StatementAnswer()
        answer.affected = count
        return answer
    }
    static let nothing = StatementAnswer()

    /// Type of each column.
    package var types: [UInt32] { self.columns.types }
    /// All cells, row by row: a length in front of each, −1 for NULL.
    package var bytes: [UInt8] { self.columns.bytes }

    /// Each cell, row by row: where in `bytes` it begins, and its length, −1 for NULL.
    package var cells: [(start: Int, length: Int)] {
        var cells: [(start: Int, length: Int)] = []
        cells.reserveCapacity(self.rowCount * self.types.count)
        self.bytes.withUnsafeBytes { bytes in
            var start = 4
            while start <= bytes.count {
                let length = Int(Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: start - 4, as: Int32.self)))
                cells.append((start, length))
                start += max(0, length) + 4
            }
        }
        return cells
    }
}

/// Builds the rows of an answer, one behind the other.
package struct Columns: Equatable {
    fileprivate private(set) var types: [UInt32] = []
    /// There has been a row.
    fileprivate var areTyped = false
    private var writer = PostgresWriter()

    package init() {}

    package static func == (a: Columns, b: Columns) -> Bool { a.types == b.types && a.bytes == b.bytes }

    package var bytes: [UInt8] { self.writer.bytes }

    package mutating func add<T: PostgresEncodable>(_ value: T) {
        if !self.areTyped { self.types.append(T.postgresType.oid) }
        value.encode(into: &self.writer)
    }
}

/// The server takes a statement for wrong.
package enum Refused: Error, Equatable {
    case unique(constraint: String)
}
