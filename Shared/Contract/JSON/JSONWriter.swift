/// Writes one JSON object, member by member. The caller keeps the order; nothing is built in between.
package struct JSONWriter {
    package private(set) var bytes: [UInt8]
    private var needsComma = false

    package init(capacity: Int = 128) {
        self.bytes = []
        self.bytes.reserveCapacity(capacity)
        self.bytes.append(UInt8(ascii: "{"))
    }

    /// Closes the object.
    package consuming func finished() -> [UInt8] {
        self.bytes.append(UInt8(ascii: "}"))
        return self.bytes
    }

    private mutating func name(_ name: StaticString) {
        if self.needsComma { self.bytes.append(UInt8(ascii: ",")) }
        self.needsComma = true
        self.bytes.append(UInt8(ascii: "\""))
        self.bytes.append(contentsOf: UnsafeBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount))
        self.bytes.append(UInt8(ascii: "\""))
        self.bytes.append(UInt8(ascii: ":"))
    }

    private mutating func name(text name: String) {
        if self.needsComma { self.bytes.append(UInt8(ascii: ",")) }
        self.needsComma = true
        Self.append(string: name, to: &self.bytes)
        self.bytes.append(UInt8(ascii: ":"))
    }

    private mutating func name(_ field: Field) {
        if self.needsComma { self.bytes.append(UInt8(ascii: ",")) }
        self.needsComma = true
        self.bytes.append(UInt8(ascii: "\""))
        self.bytes.append(contentsOf: field.nameBytes)
        self.bytes.append(UInt8(ascii: "\""))
        self.bytes.append(UInt8(ascii: ":"))
    }

    package mutating func add<Value>(_ field: TypedField<Value>, _ value: Value) {
        self.name(field.field)
        field.append(value, &self.bytes)
    }

    package mutating func add<Value>(_ field: TypedField<Value?>, _ value: Value?) {
        guard let value else { return }
        self.name(field.field)
        field.append(value, &self.bytes)
    }

    /// A field whose values have no Swift type of their own.
    mutating func add(_ field: Field, text: String) {
        self.name(field)
        Self.append(string: text, to: &self.bytes)
    }

    /// The same, of a value that is JSON already.
    mutating func add<C: Collection<UInt8>>(_ field: Field, json value: C) {
        self.name(field)
        self.bytes.append(contentsOf: value)
    }

    /// The members of an object that is JSON already, and not empty.
    mutating func add(membersOf object: [UInt8]) {
        if self.needsComma { self.bytes.append(UInt8(ascii: ",")) }
        self.needsComma = true
        self.bytes.append(contentsOf: object.dropFirst().dropLast())
    }

    /// An array whose elements are JSON already.
    package mutating func add<Element>(_ field: TypedField<[Element]>, written elements: [[UInt8]]) {
        self.name(field.field)
        Self.append(array: elements, to: &self.bytes) { $1 += $0 }
    }

    package mutating func add(_ name: StaticString, _ value: String) {
        self.name(name)
        Self.append(string: value, to: &self.bytes)
    }

    package mutating func add(_ name: StaticString, _ value: String?) {
        if let value { self.add(name, value) }
    }

    package mutating func add(_ name: StaticString, _ value: Int64) {
        self.name(name)
        self.bytes.append(contentsOf: String(value).utf8)
    }

    package mutating func add(_ name: StaticString, _ value: Timestamp) {
        self.add(name, value.milliseconds)
    }

    package mutating func add(_ name: StaticString, _ value: Bool) {
        self.name(name)
        self.bytes.append(contentsOf: (value ? "true" : "false").utf8)
    }

    package mutating func add(_ name: StaticString, _ value: WhisperID) {
        self.name(name)
        self.bytes.append(UInt8(ascii: "\""))
        value.forEachByte { self.bytes.append($0) }
        self.bytes.append(UInt8(ascii: "\""))
    }

    /// A group's id.
    package mutating func add(_ name: StaticString, group: UUIDText) {
        self.add(name, GroupIDText.prefix + group.description)
    }

    package mutating func add(_ name: StaticString, _ value: UUIDText) {
        self.name(name)
        self.bytes.append(UInt8(ascii: "\""))
        value.forEachByte { self.bytes.append($0) }
        self.bytes.append(UInt8(ascii: "\""))
    }

    package mutating func add(_ name: StaticString, base64 value: [UInt8]) {
        self.name(name)
        self.bytes.append(UInt8(ascii: "\""))
        self.bytes.append(contentsOf: Base64.encode(value))
        self.bytes.append(UInt8(ascii: "\""))
    }

    /// A value that is JSON already.
    package mutating func add<C: Collection<UInt8>>(_ name: StaticString, json value: C) {
        self.name(name)
        self.bytes.append(contentsOf: value)
    }

    /// A member whose name is known only when it is written. Its value is what `append` appends.
    package mutating func add(_ name: String, _ append: (inout [UInt8]) -> Void) {
        self.name(text: name)
        append(&self.bytes)
    }

    /// An array, each of its elements written by `append`.
    package mutating func add<Elements: Sequence>(
        _ name: StaticString, array elements: Elements, _ append: (Elements.Element, inout [UInt8]) -> Void
    ) {
        self.name(name)
        Self.append(array: elements, to: &self.bytes, append)
    }

    package static func append<Elements: Sequence>(
        array elements: Elements, to output: inout [UInt8], _ append: (Elements.Element, inout [UInt8]) -> Void
    ) {
        output.append(UInt8(ascii: "["))
        var needsComma = false
        for element in elements {
            if needsComma { output.append(UInt8(ascii: ",")) }
            needsComma = true
            append(element, &output)
        }
        output.append(UInt8(ascii: "]"))
    }

    /// One object, its members written by `write`.
    package mutating func add<Value>(
        _ name: StaticString, object value: Value, _ write: (Value, inout JSONWriter) -> Void
    ) {
        self.name(name)
        self.append(object: value, write)
        self.needsComma = true
    }

    private mutating func append<Value>(object value: Value, _ write: (Value, inout JSONWriter) -> Void) {
        self.bytes.append(UInt8(ascii: "{"))
        self.needsComma = false
        write(value, &self)
        self.bytes.append(UInt8(ascii: "}"))
    }

    /// An array of objects, the members of each written by `write`.
    package mutating func add<Elements: Sequence>(
        _ name: StaticString, objects elements: Elements, _ write: (Elements.Element, inout JSONWriter) -> Void
    ) {
        self.name(name)
        self.bytes.append(UInt8(ascii: "["))
        var needsComma = false
        for element in elements {
            if needsComma { self.bytes.append(UInt8(ascii: ",")) }
            needsComma = true
            self.append(object: element, write)
        }
        self.bytes.append(UInt8(ascii: "]"))
        self.needsComma = true
    }

    package mutating func add(_ name: StaticString, strings: [String]) {
        self.add(name, array: strings) { Self.append(string: $0, to: &$1) }
    }

    /// A field of a checked payload, under its own name. For fields whose type has no objects in it.
    package mutating func add(_ name: StaticString, _ field: Int, of payload: Payload) {
        self.name(name)
        payload.appendWritten(field, to: &self.bytes)
    }

    package static func append(string: String, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        for byte in string.utf8 { Self.append(byte, to: &output) }
        output.append(UInt8(ascii: "\""))
    }

    /// Text for a log of one event a line. DEL and the separators at which some readers end a line are escaped too.
    /// - Parameter bytesMax: longer text is cut behind the character that reaches it, and ends with "…".
    package static func append(lineText text: String, bytesMax: Int, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        var written = 0
        for scalar in text.unicodeScalars {
            guard written < bytesMax else {
                output += "…".utf8
                break
            }
            written += scalar.utf8.count
            switch scalar {
            case "\u{7F}", "\u{2028}", "\u{2029}": Self.append(escaped: UInt16(scalar.value), to: &output)
            default: for byte in scalar.utf8 { Self.append(byte, to: &output) }
            }
        }
        output.append(UInt8(ascii: "\""))
    }

    /// One byte of a string.
    @inline(__always)
    private static func append(_ byte: UInt8, to output: inout [UInt8]) {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"):
            output.append(UInt8(ascii: "\\"))
            output.append(byte)
        case 0x0A: output += [UInt8(ascii: "\\"), UInt8(ascii: "n")]
        case 0..<0x20: Self.append(escaped: UInt16(byte), to: &output)
        default: output.append(byte)
        }
    }

    private static func append(escaped unit: UInt16, to output: inout [UInt8]) {
        let digits = Array("0123456789abcdef".utf8)
        output += "\\u".utf8
        for shift in [12, 8, 4, 0] as [UInt16] { output.append(digits[Int(unit >> shift & 15)]) }
    }
}
