// One-dimensional arrays: the batch statements are written over `unnest($1::int8[], $2::bytea[], …)`.

extension Array: PostgresTyped where Element: PostgresElement {
    package static var postgresType: PostgresType { Element.postgresArrayType }
}

extension Array: PostgresEncodable where Element: PostgresElement {
    package func encode(into writer: inout PostgresWriter) { Element.encode(self, into: &writer) }
}

extension Array: PostgresDecodable where Element: PostgresElement {
    package init?(postgres cell: PostgresCell) {
        guard let elements = Element.decode(cell) else { return nil }
        self = elements
    }
}

/// `[UInt8]` is a `bytea`.
extension UInt8: PostgresElement {
    package static var postgresArrayType: PostgresType { .bytea }

    package static func encode(_ elements: [UInt8], into writer: inout PostgresWriter) {
        elements.withUnsafeBytes { writer.write(raw: $0) }
    }

    package static func decode(_ cell: PostgresCell) -> [UInt8]? {
        cell.bytes.map { [UInt8]($0) }
    }
}

/// `[[UInt8]]` is a `bytea[]`.
extension Array: PostgresElement where Element == UInt8 {
    package static var postgresArrayType: PostgresType { .byteaArray }
}

/// `[T?]` is an array with NULLs.
extension Optional: PostgresElement where Wrapped: PostgresValue {
    package static var postgresArrayType: PostgresType { Wrapped.postgresArrayType }
}

/// The layout that `array_send` and `array_recv` in the server agree on: dimensions, a flag for NULLs, the type of the
/// elements; for each dimension its length and first index; then the elements, each with its length.
extension PostgresElement where Self: PostgresEncodable & PostgresDecodable {
    package static func encode(_ elements: [Self], into writer: inout PostgresWriter) {
        // Exact for numbers; the rest grows as it goes.
        writer.reserve(24 + elements.count * 12)
        writer.writeSized { writer in
            writer.append(Int32(elements.isEmpty ? 0 : 1))
            writer.append(Int32(0))  // The server counts the NULLs itself.
            writer.append(Self.postgresType.oid)
            guard !elements.isEmpty else { return }
            writer.append(Int32(elements.count))
            writer.append(Int32(1))
            for element in elements { element.encode(into: &writer) }
        }
    }

    package static func decode(_ cell: PostgresCell) -> [Self]? {
        guard let bytes = cell.bytes else { return nil }
        var reader = ArrayReader(bytes: bytes)
        guard let dimensions = reader.next(), reader.next() != nil,
            let type = reader.next(), Self.postgresType.reads(UInt32(bitPattern: type))
        else { return nil }
        if dimensions == 0 { return [] }
        // Each element takes at least its length: a wrong count must not reserve gigabytes.
        guard dimensions == 1, let count = reader.next(), reader.next() != nil,
            count >= 0, Int(count) <= reader.remaining / 4
        else { return nil }
        var elements: [Self] = []
        elements.reserveCapacity(Int(count))
        for _ in 0..<count {
            guard let cell = reader.nextCell(), let element = Self(postgres: cell) else { return nil }
            elements.append(element)
        }
        return elements
    }
}

private struct ArrayReader {
    let bytes: UnsafeRawBufferPointer
    private var position = 0

    init(bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
    }

    var remaining: Int { self.bytes.count - self.position }

    mutating func next() -> Int32? {
        guard self.remaining >= 4 else { return nil }
        defer { self.position += 4 }
        return Int32(bigEndian: self.bytes.loadUnaligned(fromByteOffset: self.position, as: Int32.self))
    }

    mutating func nextCell() -> PostgresCell? {
        guard let length = self.next() else { return nil }
        guard length >= 0 else { return PostgresCell(bytes: nil) }
        guard Int(length) <= self.remaining else { return nil }
        defer { self.position += Int(length) }
        return PostgresCell(
            bytes: UnsafeRawBufferPointer(rebasing: self.bytes[self.position..<self.position + Int(length)]))
    }
}
