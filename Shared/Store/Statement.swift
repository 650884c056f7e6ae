/// One statement and the decoder of its rows:
/// ```swift
/// static func newest(of recipient: WhisperID) -> Statement<Int64?> {
///     Statement("SELECT max(number) FROM router.mailbox WHERE recipient = \(recipient)", decode: { rows throws(StoreError) in
///         try rows[0].decode(0)
///     })
/// }
/// ```
/// Rows are decoded where the caller runs, not on the connection's thread.
package struct Statement<Answer>: Sendable {
    package let sql: SQL
    let decode: @Sendable (Rows) throws(StoreError) -> Answer

    package init(_ sql: SQL, decode: @escaping @Sendable (Rows) throws(StoreError) -> Answer) {
        self.sql = sql
        self.decode = decode
    }

    /// - Parameter decode: reads one row. The answer has an element for each.
    package init<Element>(
        _ sql: SQL, each decode: @escaping @Sendable (inout Row) throws(StoreError) -> Element
    ) where Answer == [Element] {
        self.init(sql) { rows throws(StoreError) in
            var elements: [Element] = []
            elements.reserveCapacity(rows.count)
            for var row in rows { elements.append(try decode(&row)) }
            return elements
        }
    }

    /// - Parameter decode: reads the first row. Without one the answer is `nil`.
    package init<Value>(
        _ sql: SQL, first decode: @escaping @Sendable (inout Row) throws(StoreError) -> Value
    ) where Answer == Value? {
        self.init(sql) { rows throws(StoreError) in
            guard var row = rows.first else { return nil }
            return try decode(&row)
        }
    }
}

extension Statement where Answer: PostgresDecodable {
    /// A statement of exactly one row with one column.
    package init(value sql: SQL) {
        self.init(sql) { rows throws(StoreError) in try rows[0].decode(0) }
    }
}

extension Statement<Int> {
    /// The answer is how many rows were inserted, updated, deleted or selected.
    package init(affecting sql: SQL) {
        self.init(sql) { rows in rows.affected }
    }
}
