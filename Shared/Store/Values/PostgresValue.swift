/// A value with one type in Postgres.
package protocol PostgresTyped: Sendable {
    static var postgresType: PostgresType { get }
}

/// A value that can be a parameter of a statement.
package protocol PostgresEncodable: PostgresTyped {
    /// Writes exactly one value, its length included.
    func encode(into writer: inout PostgresWriter)
}

/// A value that can be read from a column.
package protocol PostgresDecodable: PostgresTyped {
    /// - Returns: nil if the bytes are no such value, or NULL where the type has none.
    init?(postgres cell: PostgresCell)
}

/// A type that can be the element of a one-dimensional array. It decides what an array of it means: an array of `UInt8`
/// is one `bytea`.
package protocol PostgresElement: Sendable {
    static var postgresArrayType: PostgresType { get }
    static func encode(_ elements: [Self], into writer: inout PostgresWriter)
    static func decode(_ cell: PostgresCell) -> [Self]?
}

package typealias PostgresValue = PostgresEncodable & PostgresDecodable & PostgresElement

/// A type that travels as another: an identifier as its uuid, a state as its number.
/// An enumeration whose raw value can travel needs no more than the conformance.
package protocol PostgresRepresentable: PostgresValue {
    associatedtype Stored: PostgresValue
    var stored: Stored { get }
    /// - Returns: nil if no value of this type is stored so.
    init?(stored: Stored)
}

extension PostgresRepresentable {
    package static var postgresType: PostgresType { Stored.postgresType }
    package static var postgresArrayType: PostgresType { Stored.postgresArrayType }

    package func encode(into writer: inout PostgresWriter) {
        self.stored.encode(into: &writer)
    }

    package init?(postgres cell: PostgresCell) {
        guard let stored = Stored(postgres: cell) else { return nil }
        self.init(stored: stored)
    }
}

extension PostgresRepresentable where Self: RawRepresentable, RawValue: PostgresValue, Stored == RawValue {
    package var stored: RawValue { self.rawValue }
    package init?(stored: RawValue) { self.init(rawValue: stored) }
}

/// The built-in types that the house stores. The numbers are the server's own (`pg_type.dat`) and never change.
package struct PostgresType: Hashable, Sendable {
    let oid: UInt32

    static let bool = PostgresType(oid: 16)
    static let bytea = PostgresType(oid: 17)
    static let int8 = PostgresType(oid: 20)
    static let int2 = PostgresType(oid: 21)
    static let int4 = PostgresType(oid: 23)
    static let text = PostgresType(oid: 25)
    static let float8 = PostgresType(oid: 701)
    static let timestamptz = PostgresType(oid: 1184)
    static let uuid = PostgresType(oid: 2950)

    static let boolArray = PostgresType(oid: 1000)
    static let byteaArray = PostgresType(oid: 1001)
    static let int2Array = PostgresType(oid: 1005)
    static let int4Array = PostgresType(oid: 1007)
    static let textArray = PostgresType(oid: 1009)
    static let int8Array = PostgresType(oid: 1016)
    static let float8Array = PostgresType(oid: 1022)
    static let timestamptzArray = PostgresType(oid: 1185)
    static let uuidArray = PostgresType(oid: 2951)

    /// Types other than `text` that look the same on the wire: `name`, `bpchar`, `varchar`.
    private static let textLike: Set<UInt32> = [19, 1042, 1043]

    /// Whether a column of the type `other` can be read as this one.
    func reads(_ other: UInt32) -> Bool {
        self.oid == other || (self == .text && Self.textLike.contains(other))
    }
}
