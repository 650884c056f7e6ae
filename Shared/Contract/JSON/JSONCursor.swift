/// Walks JSON text (RFC 8259) once, strictly, without building a tree. Recursion is bounded by `Limits.jsonDepthMax`.
/// The text must be valid UTF-8 already: a WebSocket text message is checked as a whole.
struct JSONCursor {
    let text: UnsafeBufferPointer<UInt8>
    var position: Int

    /// Anything that is not JSON. Where exactly does not matter to a client that sends it.
    struct Malformed: Error {}

    init(_ text: UnsafeBufferPointer<UInt8>, at position: Int = 0) {
        self.text = text
        self.position = position
    }

    /// The next byte that is not white space, not consumed; 0 at the end (NUL is never valid JSON here).
    mutating func peek() -> UInt8 {
        while self.position < self.text.count {
            switch self.text[self.position] {
            case 0x20, 0x0A, 0x0D, 0x09: self.position += 1
            case let byte: return byte
            }
        }
        return 0
    }

    mutating func expect(_ byte: UInt8) throws(Malformed) {
        guard self.peek() == byte else { throw Malformed() }
        self.position += 1
    }

    /// Only white space is left.
    mutating func end() throws(Malformed) {
        guard self.peek() == 0, self.position == self.text.count else { throw Malformed() }
    }

    /// A string: where its contents stand, and whether they hold escapes.
    mutating func string() throws(Malformed) -> (content: Range<Int>, escaped: Bool) {
        try self.expect(UInt8(ascii: "\""))
        let start = self.position
        var escaped = false
        while self.position < self.text.count {
            let byte = self.text[self.position]
            if byte == UInt8(ascii: "\"") {
                defer { self.position += 1 }
                return (start..<self.position, escaped)
            }
            if byte < 0x20 { throw Malformed() }
            self.position += 1
            if byte == UInt8(ascii: "\\") {
                escaped = true
                try self.escape()
            }
        }
        throw Malformed()
    }

    /// The part of an escape after its backslash.
    private mutating func escape() throws(Malformed) {
        guard self.position < self.text.count else { throw Malformed() }
        let kind = self.text[self.position]
        self.position += 1
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            return
        case UInt8(ascii: "u"):
            let unit = try self.hexUnit()
            switch unit {
            case 0xD800..<0xDC00:
                // A high surrogate must be followed by an escaped low one.
                guard self.position + 1 < self.text.count, self.text[self.position] == UInt8(ascii: "\\"),
                    self.text[self.position + 1] == UInt8(ascii: "u")
                else { throw Malformed() }
                self.position += 2
                guard (0xDC00..<0xE000).contains(try self.hexUnit()) else { throw Malformed() }
            case 0xDC00..<0xE000: throw Malformed()
            default: return
            }
        default: throw Malformed()
        }
    }

    private mutating func hexUnit() throws(Malformed) -> UInt32 {
        guard self.position + 4 <= self.text.count else { throw Malformed() }
        var unit: UInt32 = 0
        for _ in 0..<4 {
            guard let digit = Self.hexDigit(self.text[self.position]) else { throw Malformed() }
            unit = unit << 4 | digit
            self.position += 1
        }
        return unit
    }

    private static func hexDigit(_ byte: UInt8) -> UInt32? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt32(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt32(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }

    /// The text that an escaped string stands for, as UTF-8. `content` was returned by `string()`.
    func unescape(_ content: Range<Int>) -> [UInt8] {
        var output: [UInt8] = []
        output.reserveCapacity(content.count)
        var cursor = JSONCursor(self.text, at: content.lowerBound)
        while cursor.position < content.upperBound {
            let byte = self.text[cursor.position]
            cursor.position += 1
            guard byte == UInt8(ascii: "\\") else {
                output.append(byte)
                continue
            }
            let kind = self.text[cursor.position]
            cursor.position += 1
            switch kind {
            case UInt8(ascii: "b"): output.append(0x08)
            case UInt8(ascii: "f"): output.append(0x0C)
            case UInt8(ascii: "n"): output.append(0x0A)
            case UInt8(ascii: "r"): output.append(0x0D)
            case UInt8(ascii: "t"): output.append(0x09)
            case UInt8(ascii: "u"):
                // `string()` has checked digits and surrogate pairs.
                guard var scalar = try? cursor.hexUnit() else {
                    assertionFailure("a string was not checked before it was read")
                    return output
                }
                if (0xD800..<0xDC00).contains(scalar) {
                    cursor.position += 2
                    guard let low = try? cursor.hexUnit() else {
                        assertionFailure("a string was not checked before it was read")
                        return output
                    }
                    scalar = 0x10000 + (scalar - 0xD800) << 10 + (low - 0xDC00)
                }
                if let scalar = Unicode.Scalar(scalar) { output.append(contentsOf: UTF8.encode(scalar)!) }
            default: output.append(kind)
            }
        }
        return output
    }

    /// A number without fraction or exponent that fits; `nil` for any other number (consumed all the same).
    mutating func integer() throws(Malformed) -> Int64? {
        let start = self.position
        let isWhole = try self.number()
        guard isWhole else { return nil }
        var index = start
        let isNegative = self.text[index] == UInt8(ascii: "-")
        if isNegative { index += 1 }
        var value: Int64 = 0
        while index < self.position {
            let digit = Int64(self.text[index] - UInt8(ascii: "0"))
            let (product, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (sum, carried) =
                isNegative
                ? product.subtractingReportingOverflow(digit) : product.addingReportingOverflow(digit)
            if overflowed || carried { return nil }
            value = sum
            index += 1
        }
        return value
    }

    /// Consumes a number. - Returns: whether it is written as an integer.
    private mutating func number() throws(Malformed) -> Bool {
        func digits() -> Int {
            let start = self.position
            while self.position < self.text.count,
                (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self.text[self.position])
            {
                self.position += 1
            }
            return self.position - start
        }
        func at(_ bytes: UInt8...) -> Bool {
            self.position < self.text.count && bytes.contains(self.text[self.position])
        }
        if at(UInt8(ascii: "-")) { self.position += 1 }
        if at(UInt8(ascii: "0")) {
            self.position += 1
        } else {
            guard digits() > 0 else { throw Malformed() }
        }
        var isWhole = true
        if at(UInt8(ascii: ".")) {
            isWhole = false
            self.position += 1
            guard digits() > 0 else { throw Malformed() }
        }
        if at(UInt8(ascii: "e"), UInt8(ascii: "E")) {
            isWhole = false
            self.position += 1
            if at(UInt8(ascii: "+"), UInt8(ascii: "-")) { self.position += 1 }
            guard digits() > 0 else { throw Malformed() }
        }
        return isWhole
    }

    mutating func literal(_ word: StaticString) throws(Malformed) {
        for index in 0..<word.utf8CodeUnitCount {
            guard self.position < self.text.count, self.text[self.position] == word.utf8Start[index] else {
                throw Malformed()
            }
            self.position += 1
        }
    }

    /// Consumes any value.
    mutating func skip(depth: Int = 0) throws(Malformed) {
        switch self.peek() {
        case UInt8(ascii: "\""): _ = try self.string()
        case UInt8(ascii: "{"):
            try self.members(depth: depth) { cursor, _ throws(Malformed) in try cursor.skip(depth: depth + 1) }
        case UInt8(ascii: "["):
            try self.elements(depth: depth) { cursor throws(Malformed) in try cursor.skip(depth: depth + 1) }
        case UInt8(ascii: "t"): try self.literal("true")
        case UInt8(ascii: "f"): try self.literal("false")
        case UInt8(ascii: "n"): try self.literal("null")
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): _ = try self.number()
        default: throw Malformed()
        }
    }

    /// An object: `body` must consume each member's value.
    mutating func members(
        depth: Int, _ body: (inout JSONCursor, (content: Range<Int>, escaped: Bool)) throws(Malformed) -> Void
    ) throws(Malformed) {
        guard depth < Limits.jsonDepthMax else { throw Malformed() }
        try self.expect(UInt8(ascii: "{"))
        if self.peek() == UInt8(ascii: "}") {
            self.position += 1
            return
        }
        while true {
            guard self.peek() == UInt8(ascii: "\"") else { throw Malformed() }
            let name = try self.string()
            try self.expect(UInt8(ascii: ":"))
            try body(&self, name)
            switch self.peek() {
            case UInt8(ascii: ","): self.position += 1
            case UInt8(ascii: "}"):
                self.position += 1
                return
            default: throw Malformed()
            }
        }
    }

    /// An array: `body` must consume each element.
    mutating func elements(
        depth: Int, _ body: (inout JSONCursor) throws(Malformed) -> Void
    ) throws(Malformed) {
        guard depth < Limits.jsonDepthMax else { throw Malformed() }
        try self.expect(UInt8(ascii: "["))
        if self.peek() == UInt8(ascii: "]") {
            self.position += 1
            return
        }
        while true {
            try body(&self)
            switch self.peek() {
            case UInt8(ascii: ","): self.position += 1
            case UInt8(ascii: "]"):
                self.position += 1
                return
            default: throw Malformed()
            }
        }
    }
}
