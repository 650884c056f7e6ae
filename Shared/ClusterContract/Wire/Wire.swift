/// The encoding of everything that services tell each other: fixed-width little-endian integers, and
/// byte strings behind a 32-bit length. Fields are written and read in declaration order; there are no names
/// and no padding. A whole message starts with the format's number, so that a release that does not know it can tell.

/// The encoding described here.
private let wireFormat: UInt8 = 1

/// A value with one encoding on the bus.
package protocol WireCodable: Sendable {
    func encode(into writer: inout WireWriter)
    /// - Throws: `WireError` when the bytes are not what `encode` writes; the reader's position is then unspecified.
    init(from reader: inout WireReader) throws(WireError)
}

/// Why bytes from the bus could not be read. Always a bug or a newer release, never a client's fault.
package enum WireError: Error, Equatable {
    /// The bytes ended inside a field.
    case truncated
    /// Bytes were left after the last field.
    case trailing
    /// A discriminator or format number that this release does not know.
    case unknown(UInt8)
    /// A field was complete but not a value of its type.
    case malformed
}

/// Appends fields to a byte array.
package struct WireWriter {
    package private(set) var bytes: [UInt8] = []

    package init(capacity: Int = 0) {
        self.bytes.reserveCapacity(capacity)
    }

    package mutating func write<I: FixedWidthInteger>(_ value: I) {
        withUnsafeBytes(of: value.littleEndian) { self.bytes.append(contentsOf: $0) }
    }

    package mutating func write(_ value: Bool) {
        self.bytes.append(value ? 1 : 0)
    }

    /// A length (32 bits) and the bytes.
    package mutating func write<C: Collection<UInt8>>(bytes value: C) {
        self.write(UInt32(value.count))
        self.bytes.append(contentsOf: value)
    }

    package mutating func write(_ value: String) {
        var value = value
        value.withUTF8 { self.write(bytes: $0) }
    }

    package mutating func write<T: WireCodable>(_ value: T) {
        value.encode(into: &self)
    }

    package mutating func write<T: WireCodable>(_ value: T?) {
        self.write(value != nil)
        if let value { value.encode(into: &self) }
    }

    package mutating func write<T: WireCodable>(list: [T]) {
        self.write(UInt32(list.count))
        for value in list { value.encode(into: &self) }
    }
}

/// Takes fields from a byte array, in the order they were written.
package struct WireReader {
    private let bytes: [UInt8]
    private var position = 0

    package init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// Bytes not read yet.
    package var remaining: Int { self.bytes.count - self.position }

    package mutating func read<I: FixedWidthInteger>(_: I.Type = I.self) throws(WireError) -> I {
        let width = MemoryLayout<I>.size
        guard self.remaining >= width else { throw .truncated }
        let value = self.bytes.withUnsafeBytes {
            $0.loadUnaligned(fromByteOffset: self.position, as: I.self)
        }
        self.position += width
        return I(littleEndian: value)
    }

    package mutating func readBool() throws(WireError) -> Bool {
        switch try self.read(UInt8.self) {
        case 0: return false
        case 1: return true
        default: throw .malformed
        }
    }

    package mutating func readBytes() throws(WireError) -> [UInt8] {
        let count = Int(try self.read(UInt32.self))
        guard self.remaining >= count else { throw .truncated }
        defer { self.position += count }
        return Array(self.bytes[self.position..<self.position + count])
    }

    package mutating func readString() throws(WireError) -> String {
        guard let text = String(validating: try self.readBytes(), as: UTF8.self) else { throw .malformed }
        return text
    }

    package mutating func read<T: WireCodable>(_: T.Type = T.self) throws(WireError) -> T {
        try T(from: &self)
    }

    package mutating func readOptional<T: WireCodable>(_: T.Type = T.self) throws(WireError) -> T? {
        try self.readBool() ? try T(from: &self) : nil
    }

    package mutating func readList<T: WireCodable>(_: T.Type = T.self) throws(WireError) -> [T] {
        let count = Int(try self.read(UInt32.self))
        // Each element takes at least one byte: a corrupt count must not reserve gigabytes.
        guard count <= self.remaining else { throw .truncated }
        var list: [T] = []
        list.reserveCapacity(count)
        for _ in 0..<count { list.append(try T(from: &self)) }
        return list
    }

    /// Ends a message.
    /// - Throws: `.trailing` if bytes are left.
    package func finish() throws(WireError) {
        guard self.remaining == 0 else { throw .trailing }
    }
}

extension WireCodable {
    /// The whole message as bytes.
    package func encoded() -> [UInt8] {
        var writer = WireWriter(capacity: 256)
        writer.write(wireFormat)
        self.encode(into: &writer)
        return writer.bytes
    }

    /// Reads exactly one message.
    package init(decoding bytes: [UInt8]) throws(WireError) {
        var reader = WireReader(bytes)
        let format: UInt8 = try reader.read()
        guard format == wireFormat else { throw .unknown(format) }
        self = try Self(from: &reader)
        try reader.finish()
    }
}
