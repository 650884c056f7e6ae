import Contract

/// One statement and its parameters. Every interpolated value becomes `$n`; no value ever stands in the text:
/// ```swift
/// let sql: SQL = "DELETE FROM router.mailbox WHERE device = \(device) AND position <= \(last)"
/// ```
/// The text of a call site is therefore constant, and each connection prepares it once.
package struct SQL: Sendable, ExpressibleByStringInterpolation {
    let template: Template
    let parameters: [UInt8]

    /// The key of a prepared statement.
    struct Template: Hashable {
        var text: String
        var types: [UInt32]
    }

    package init(stringLiteral text: String) {
        self.template = Template(text: text, types: [])
        self.parameters = []
    }

    package init(stringInterpolation: StringInterpolation) {
        self.template = stringInterpolation.template
        self.parameters = stringInterpolation.writer.bytes
    }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var template = Template(text: "", types: [])
        fileprivate var writer = PostgresWriter()

        package init(literalCapacity: Int, interpolationCount: Int) {
            self.template.text.reserveCapacity(literalCapacity + 3 * interpolationCount)
            self.template.types.reserveCapacity(interpolationCount)
        }

        package mutating func appendLiteral(_ literal: String) {
            self.template.text += literal
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
            self.template.text += text.description
        }

        /// The database's clock stands in the text, a time that a test names is a value like any other.
        package mutating func appendInterpolation(_ time: StoreTime) {
            switch time.base {
            case .given(let base): self.append(base + time.offset)
            case .database where time.offset == .zero: self.template.text += "now()"
            case .database: self.template.text += "(now() + interval '\(time.offset.milliseconds) milliseconds')"
            }
        }

        private mutating func append<T: PostgresEncodable>(_ value: T) {
            self.template.types.append(T.postgresType.oid)
            self.template.text += "$\(self.template.types.count)"
            value.encode(into: &self.writer)
        }
    }
}
