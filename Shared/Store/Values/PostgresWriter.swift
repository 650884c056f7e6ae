/// Parameters in the form in which they travel: for each a 32-bit length and its bytes, or −1 for NULL.
/// All numbers are big-endian.
package struct PostgresWriter: Sendable {
    private(set) var bytes: [UInt8] = []

    init() {}

    mutating func reserve(_ count: Int) {
        self.bytes.reserveCapacity(self.bytes.count + count)
    }

    mutating func writeNull() {
        self.append(Int32(-1))
    }

    mutating func write<I: FixedWidthInteger>(integer value: I) {
        self.append(Int32(MemoryLayout<I>.size))
        self.append(value)
    }

    mutating func write(raw value: UnsafeRawBufferPointer) {
        self.append(Int32(value.count))
        self.bytes.append(contentsOf: value)
    }

    /// Writes a value whose length is known only when it is written.
    mutating func writeSized(_ body: (inout PostgresWriter) -> Void) {
        let start = self.bytes.count
        self.append(Int32(0))
        body(&self)
        let length = Int32(self.bytes.count - start - 4)
        self.bytes.withUnsafeMutableBytes {
            $0.storeBytes(of: length.bigEndian, toByteOffset: start, as: Int32.self)
        }
    }

    /// Appends a number alone, without a length.
    mutating func append<I: FixedWidthInteger>(_ value: I) {
        withUnsafeBytes(of: value.bigEndian) { self.bytes.append(contentsOf: $0) }
    }
}

/// The bytes of one value in a result, or NULL. Valid only inside the call that hands it out.
package struct PostgresCell {
    /// nil is NULL.
    let bytes: UnsafeRawBufferPointer?

    /// - Returns: nil unless the value has exactly the width of `I`.
    func integer<I: FixedWidthInteger>(_: I.Type = I.self) -> I? {
        guard let bytes, bytes.count == MemoryLayout<I>.size else { return nil }
        return I(bigEndian: bytes.loadUnaligned(as: I.self))
    }
}
