import CLibPQ

/// The answer to one statement. Values stay in libpq's memory until they are read.
package struct Rows: Sendable, RandomAccessCollection {
    fileprivate let memory: ResultMemory
    package let endIndex: Int

    /// Takes `result` over; it is cleared when the last row is gone.
    init(taking result: OpaquePointer) {
        self.memory = ResultMemory(result)
        self.endIndex = Int(PQntuples(result))
    }

    package var startIndex: Int { 0 }

    package subscript(index: Int) -> Row {
        precondition(self.indices.contains(index))
        return Row(memory: self.memory, index: Int32(index))
    }

    /// Rows inserted, updated, deleted or selected.
    package var affected: Int {
        PQcmdTuples(self.memory.result).flatMap { Int(String(cString: $0)) } ?? 0
    }

    /// The command tag of the server, such as `COMMIT`.
    var tag: String {
        PQcmdStatus(self.memory.result).map { String(cString: $0) } ?? ""
    }
}

/// One row. Read its columns from left to right (`for var row in rows { let id = try row.next(Int64.self) … }`) or by number.
package struct Row: Sendable {
    fileprivate let memory: ResultMemory
    fileprivate let index: Int32
    private var column = 0

    fileprivate init(memory: ResultMemory, index: Int32) {
        self.memory = memory
        self.index = index
    }

    /// The next column.
    /// - Throws: `.undecodable`.
    package mutating func next<T: PostgresDecodable>(_: T.Type = T.self) throws(StoreError) -> T {
        defer { self.column += 1 }
        return try self.decode(self.column)
    }

    /// - Parameter column: counted from 0.
    /// - Throws: `.undecodable`.
    package func decode<T: PostgresDecodable>(_ column: Int, as: T.Type = T.self) throws(StoreError) -> T {
        let result = self.memory.result
        guard column >= 0, column < Int(PQnfields(result)), T.postgresType.reads(PQftype(result, Int32(column))),
            let value = T(postgres: self.memory.cell(row: self.index, column: Int32(column)))
        else { throw .undecodable(column: column) }
        return value
    }
}

private final class ResultMemory: Sendable {
    /// Written by libpq before it is handed out, only read afterwards.
    nonisolated(unsafe) let result: OpaquePointer

    init(_ result: OpaquePointer) {
        self.result = result
    }

    deinit {
        PQclear(self.result)
    }

    func cell(row: Int32, column: Int32) -> PostgresCell {
        guard PQgetisnull(self.result, row, column) == 0 else { return PostgresCell(bytes: nil) }
        let count = Int(PQgetlength(self.result, row, column))
        return PostgresCell(bytes: UnsafeRawBufferPointer(start: PQgetvalue(self.result, row, column), count: count))
    }
}
