extension Int16: PostgresValue {
    package static var postgresType: PostgresType { .int2 }
    package static var postgresArrayType: PostgresType { .int2Array }
    package func encode(into writer: inout PostgresWriter) { writer.write(integer: self) }
    package init?(postgres cell: PostgresCell) {
        guard let value: Int16 = cell.integer() else { return nil }
        self = value
    }
}

extension Int32: PostgresValue {
    package static var postgresType: PostgresType { .int4 }
    package static var postgresArrayType: PostgresType { .int4Array }
    package func encode(into writer: inout PostgresWriter) { writer.write(integer: self) }
    package init?(postgres cell: PostgresCell) {
        guard let value: Int32 = cell.integer() else { return nil }
        self = value
    }
}

extension Int64: PostgresValue {
    package static var postgresType: PostgresType { .int8 }
    package static var postgresArrayType: PostgresType { .int8Array }
    package func encode(into writer: inout PostgresWriter) { writer.write(integer: self) }
    package init?(postgres cell: PostgresCell) {
        guard let value: Int64 = cell.integer() else { return nil }
        self = value
    }
}

extension Bool: PostgresValue {
    package static var postgresType: PostgresType { .bool }
    package static var postgresArrayType: PostgresType { .boolArray }
    package func encode(into writer: inout PostgresWriter) { writer.write(integer: UInt8(self ? 1 : 0)) }
    package init?(postgres cell: PostgresCell) {
        guard let value: UInt8 = cell.integer() else { return nil }
        self = value != 0
    }
}

extension Double: PostgresValue {
    package static var postgresType: PostgresType { .float8 }
    package static var postgresArrayType: PostgresType { .float8Array }
    package func encode(into writer: inout PostgresWriter) { writer.write(integer: self.bitPattern) }
    package init?(postgres cell: PostgresCell) {
        guard let value: UInt64 = cell.integer() else { return nil }
        self.init(bitPattern: value)
    }
}

/// `text`. Postgres refuses the character U+0000.
extension String: PostgresValue {
    package static var postgresType: PostgresType { .text }
    package static var postgresArrayType: PostgresType { .textArray }
    package func encode(into writer: inout PostgresWriter) {
        var text = self
        text.withUTF8 { writer.write(raw: UnsafeRawBufferPointer($0)) }
    }
    package init?(postgres cell: PostgresCell) {
        guard let bytes = cell.bytes else { return nil }
        self.init(decoding: bytes, as: UTF8.self)
    }
}

/// A `uuid`: sixteen bytes, the first in the highest bits of `high`.
package struct PostgresUUID: Hashable, Sendable, PostgresValue {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package static var postgresType: PostgresType { .uuid }
    package static var postgresArrayType: PostgresType { .uuidArray }

    package func encode(into writer: inout PostgresWriter) {
        writer.append(Int32(16))
        writer.append(self.high)
        writer.append(self.low)
    }

    package init?(postgres cell: PostgresCell) {
        guard let bytes = cell.bytes, bytes.count == 16 else { return nil }
        self.high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        self.low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }
}

/// A `timestamptz`, in milliseconds since 1970. Postgres counts microseconds since 2000; reading rounds down.
package struct PostgresTimestamp: Hashable, Sendable, PostgresValue {
    package var milliseconds: Int64

    package init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    private static let epoch: Int64 = 946_684_800_000
    /// The range of a timestamptz, in its own microseconds: 4714 BC to 294276 AD.
    private static let range: ClosedRange<Int64> = -211_813_488_000_000_000...9_223_371_331_199_999_999

    package static var postgresType: PostgresType { .timestamptz }
    package static var postgresArrayType: PostgresType { .timestamptzArray }

    /// A time that Postgres cannot hold becomes the nearest one that it can: it may come from a client.
    package func encode(into writer: inout PostgresWriter) {
        let (sinceEpoch, early) = self.milliseconds.subtractingReportingOverflow(Self.epoch)
        let (microseconds, far) = sinceEpoch.multipliedReportingOverflow(by: 1_000)
        let nearest = self.milliseconds < 0 ? Self.range.lowerBound : Self.range.upperBound
        writer.write(
            integer: early || far ? nearest : min(max(microseconds, Self.range.lowerBound), Self.range.upperBound))
    }

    /// `infinity` is no time.
    package init?(postgres cell: PostgresCell) {
        guard let microseconds: Int64 = cell.integer(), Self.range.contains(microseconds) else { return nil }
        let (quotient, remainder) = microseconds.quotientAndRemainder(dividingBy: 1_000)
        self.milliseconds = Self.epoch + quotient - (remainder < 0 ? 1 : 0)
    }
}

extension Optional: PostgresTyped where Wrapped: PostgresTyped {
    package static var postgresType: PostgresType { Wrapped.postgresType }
}

extension Optional: PostgresEncodable where Wrapped: PostgresEncodable {
    package func encode(into writer: inout PostgresWriter) {
        if let self { self.encode(into: &writer) } else { writer.writeNull() }
    }
}

extension Optional: PostgresDecodable where Wrapped: PostgresDecodable {
    package init?(postgres cell: PostgresCell) {
        if cell.bytes == nil {
            self = Optional<Wrapped>.none
        } else {
            guard let value = Wrapped(postgres: cell) else { return nil }
            self = Optional(value)
        }
    }
}
