package import Contract

// How the contract's own types are stored, the same in every service.

/// An `int8`: the id's 60 bits.
extension WhisperID: PostgresRepresentable {
    package var stored: Int64 { Int64(self.bits) }
    package init?(stored: Int64) { self.init(bits: UInt64(bitPattern: stored)) }
}

/// A `uuid`: the id's 128 bits.
extension GuestID: PostgresRepresentable {
    package var stored: PostgresUUID { PostgresUUID(high: self.high, low: self.low) }
    package init?(stored: PostgresUUID) { self.init(high: stored.high, low: stored.low) }
}

/// A `timestamptz`.
extension Timestamp: PostgresRepresentable {
    package var stored: PostgresTimestamp { PostgresTimestamp(milliseconds: self.milliseconds) }
    package init?(stored: PostgresTimestamp) { self.init(milliseconds: stored.milliseconds) }
}

/// A `bytea` of 32 bytes.
extension Bytes32: PostgresValue {
    package static var postgresType: PostgresType { .bytea }
    package static var postgresArrayType: PostgresType { .byteaArray }
    package func encode(into writer: inout PostgresWriter) { self.withUnsafeBytes { writer.write(raw: $0) } }
    package init?(postgres cell: PostgresCell) {
        guard let bytes = cell.bytes else { return nil }
        self.init(bytes)
    }
}

/// A `bytea` of 64 bytes.
extension Bytes64: PostgresValue {
    package static var postgresType: PostgresType { .bytea }
    package static var postgresArrayType: PostgresType { .byteaArray }
    package func encode(into writer: inout PostgresWriter) { self.withUnsafeBytes { writer.write(raw: $0) } }
    package init?(postgres cell: PostgresCell) {
        guard let bytes = cell.bytes else { return nil }
        self.init(bytes)
    }
}

extension PostgresUUID {
    /// Without regard to case.
    package init(_ id: UUIDText) { self.init(high: id.high, low: id.low) }
}

extension UUIDText {
    /// - Parameter idCase: which of its letters are capital, as the id was written (`UUIDText.upperCase`); lower case if nothing
    ///   else is known.
    package init(_ stored: PostgresUUID, idCase: Int32 = 0) {
        self.init(high: stored.high, low: stored.low, upperCase: UInt32(bitPattern: idCase))
    }
}
