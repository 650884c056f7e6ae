/// A value of a column, or of an argument.
package enum DatabaseValue: Hashable, Sendable, CustomStringConvertible {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    package var description: String {
        switch self {
        case .null: "NULL"
        case .integer(let number): "\(number)"
        case .real(let number): "\(number)"
        case .text(let text): String(reflecting: text)
        case .blob(let bytes): "\(bytes)"
        }
    }
}

/// A value that a column can hold.
package protocol DatabaseValueConvertible {
    var databaseValue: DatabaseValue { get }
    /// - Returns: `nil` if the column has a value of another kind.
    static func reading(_ value: DatabaseValue) -> Self?
    /// Stands for a value of another kind, which only a damaged store has: a store ends no process.
    static var absent: Self { get }
}

extension DatabaseValue: DatabaseValueConvertible {
    package var databaseValue: DatabaseValue { self }
    package static func reading(_ value: DatabaseValue) -> DatabaseValue? { value }
    package static var absent: DatabaseValue { .null }
}

extension Optional: DatabaseValueConvertible where Wrapped: DatabaseValueConvertible {
    package var databaseValue: DatabaseValue { self?.databaseValue ?? .null }
    package static func reading(_ value: DatabaseValue) -> Wrapped?? { .some(Wrapped.reading(value)) }
    package static var absent: Wrapped? { nil }
}

extension FixedWidthInteger where Self: DatabaseValueConvertible {
    package var databaseValue: DatabaseValue { .integer(Int64(self)) }
    package static func reading(_ value: DatabaseValue) -> Self? {
        guard case .integer(let number) = value else { return nil }
        return Self(exactly: number)
    }
    package static var absent: Self { 0 }
}

extension Int: DatabaseValueConvertible {}
extension Int64: DatabaseValueConvertible {}
extension UInt32: DatabaseValueConvertible {}

extension Bool: DatabaseValueConvertible {
    package var databaseValue: DatabaseValue { .integer(self ? 1 : 0) }
    package static func reading(_ value: DatabaseValue) -> Bool? {
        guard case .integer(let number) = value else { return nil }
        return number != 0
    }
    package static var absent: Bool { false }
}

extension String: DatabaseValueConvertible {
    package var databaseValue: DatabaseValue { .text(self) }
    package static func reading(_ value: DatabaseValue) -> String? {
        guard case .text(let text) = value else { return nil }
        return text
    }
    package static var absent: String { "" }
}

extension Array: DatabaseValueConvertible where Element == UInt8 {
    package var databaseValue: DatabaseValue { .blob(self) }
    package static func reading(_ value: DatabaseValue) -> [UInt8]? {
        guard case .blob(let bytes) = value else { return nil }
        return bytes
    }
    package static var absent: [UInt8] { [] }
}

/// The values of the `?` in a statement, in their order.
package struct StatementArguments: ExpressibleByArrayLiteral {
    var values: [DatabaseValue]

    package init(arrayLiteral elements: (any DatabaseValueConvertible)?...) {
        self.values = elements.map { $0?.databaseValue ?? .null }
    }

    package init(_ elements: some Sequence<some DatabaseValueConvertible>) {
        self.values = elements.map(\.databaseValue)
    }

    package static func + (first: Self, second: Self) -> Self {
        var sum = first
        sum.values += second.values
        return sum
    }
}
