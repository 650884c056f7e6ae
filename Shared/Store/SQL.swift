import Contract

/// One statement and its parameters. Every interpolated value becomes `$n`; no value ever stands in the text:
/// ```swift
/// let sql: SQL = "DELETE FROM router.mailbox WHERE device = \(device) AND position <= \(last)"
/// ```
/// The text of a call site is therefore constant, and each connection prepares it once.
package struct SQL: Sendable, ExpressibleByStringInterpolation {
    let statement: Statement
    let parameters: [UInt8]

    /// What a prepared statement is known by.
    struct Statement: Hashable {
        var text: String
        var types: [UInt32]
    }

    package init(stringLiteral text: String) {
        self.statement = Statement(text: text, types: [])
        self.parameters = []
    }

    package init(stringInterpolation: StringInterpolation) {
        self.statement = stringInterpolation.statement
        self.parameters = stringInterpolation.writer.bytes
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var statement = Statement(text: "", types: [])
        fileprivate var writer = PostgresWriter()

        package init(literalCapacity: Int, interpolationCount: Int) {
            self.statement.text.reserveCapacity(literalCapacity + 3 * interpolationCount)
            self.statement.types.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: String) {
            self.statement.text += literal
        }

        package mutating func appendInterpolation<T: PostgresEncodable>(_ value: T) {
            self.append(value)
        }

        /// NULL or a value. Spelled out because the compiler warns of optionals in interpolations that do not ask for them.
        package mutating func appendInterpolation<T: PostgresEncodable>(_ value: T?) {
            self.append(value)
        }

        /// Text that several statements share, such as a list of columns. A `StaticString` cannot be made from a value.
        package mutating func appendInterpolation(unsafeText text: StaticString) {
            self.statement.text += text.description
        }

        /// The database's clock stands in the text, a time that a test names is a value like any other.
        package mutating func appendInterpolation(_ time: StoreTime) {
            switch time.base {
            case .given(let base): self.append(base + time.offset)
            case .database where time.offset == .zero: self.statement.text += "now()"
            case .database: self.statement.text += "(now() + interval '\(time.offset.milliseconds) milliseconds')"
            }
        }

        private mutating func append<T: PostgresEncodable>(_ value: T) {
            self.statement.types.append(T.postgresType.oid)
            self.statement.text += "$\(self.statement.types.count)"
            value.encode(into: &self.writer)
        }
    }
}
