/// JSON (RFC 8259) read a second way: over scalars, into a tree, with every member and number kept as written.
/// Slow and plain, so that the real reader can be compared with it.
indirect enum SlowJSON {
    case null
    case bool(Bool)
    /// The literal, as written.
    case number(String)
    case string(String)
    case array([SlowJSON])
    /// In order, duplicates included.
    case object([Member])

    /// A type of its own: with a tuple here the compiler finds a circular reference, depending on the order of files.
    struct Member {
        var name: String
        var value: SlowJSON
    }

    /// - Returns: `nil` if `text` is not one JSON value.
    static func parse(_ text: String) -> SlowJSON? {
        var rest = Array(text.unicodeScalars)[...]
        guard let value = Self.value(&rest) else { return nil }
        Self.skipSpace(&rest)
        return rest.isEmpty ? value : nil
    }

    /// Nested arrays and objects, this one included.
    var depth: Int {
        switch self {
        case .array(let elements): 1 + (elements.map(\.depth).max() ?? 0)
        case .object(let members): 1 + (members.map(\.value.depth).max() ?? 0)
        default: 0
        }
    }

    private typealias Scalars = ArraySlice<Unicode.Scalar>

    private static func skipSpace(_ rest: inout Scalars) {
        rest = rest.drop { " \t\r\n".unicodeScalars.contains($0) }
    }

    private static func take(_ word: String, _ rest: inout Scalars) -> Bool {
        guard rest.starts(with: word.unicodeScalars) else { return false }
        rest = rest.dropFirst(word.unicodeScalars.count)
        return true
    }

    private static func value(_ rest: inout Scalars) -> SlowJSON? {
        self.skipSpace(&rest)
        if self.take("null", &rest) { return .null }
        if self.take("true", &rest) { return .bool(true) }
        if self.take("false", &rest) { return .bool(false) }
        if self.take("\"", &rest) { return self.string(&rest).map { .string($0) } }
        if self.take("[", &rest) { return self.array(&rest) }
        if self.take("{", &rest) { return self.object(&rest) }
        return self.number(&rest)
    }

    private static func array(_ rest: inout Scalars) -> SlowJSON? {
        self.skipSpace(&rest)
        if self.take("]", &rest) { return .array([]) }
        var elements: [SlowJSON] = []
        repeat {
            guard let element = self.value(&rest) else { return nil }
            elements.append(element)
            self.skipSpace(&rest)
        } while self.take(",", &rest)
        return self.take("]", &rest) ? .array(elements) : nil
    }

    private static func object(_ rest: inout Scalars) -> SlowJSON? {
        self.skipSpace(&rest)
        if self.take("}", &rest) { return .object([]) }
        var members: [Member] = []
        repeat {
            self.skipSpace(&rest)
            guard self.take("\"", &rest), let name = self.string(&rest) else { return nil }
            self.skipSpace(&rest)
            guard self.take(":", &rest), let value = self.value(&rest) else { return nil }
            members.append(Member(name: name, value: value))
            self.skipSpace(&rest)
        } while self.take(",", &rest)
        return self.take("}", &rest) ? .object(members) : nil
    }

    private static func string(_ rest: inout Scalars) -> String? {
        var units: [UInt16] = []
        while let scalar = rest.popFirst() {
            if scalar == "\"" {
                // UTF-16 puts surrogate pairs together; a lone one is no text.
                let text = String(decoding: units, as: UTF16.self)
                return Array(text.utf16) == units ? text : nil
            }
            if scalar.value < 0x20 { return nil }
            guard scalar == "\\" else {
                units += String(Character(scalar)).utf16
                continue
            }
            guard let kind = rest.popFirst() else { return nil }
            let simple: [Unicode.Scalar: UInt16] = [
                "\"": 0x22, "\\": 0x5C, "/": 0x2F, "b": 8, "f": 12, "n": 10, "r": 13, "t": 9,
            ]
            if let unit = simple[kind] {
                units.append(unit)
            } else {
                let digits = String(String.UnicodeScalarView(rest.prefix(4)))
                guard kind == "u", rest.count >= 4,
                    digits.utf8.allSatisfy({ "0123456789abcdefABCDEF".utf8.contains($0) }),
                    let unit = UInt16(digits, radix: 16)
                else { return nil }
                rest = rest.dropFirst(4)
                units.append(unit)
            }
        }
        return nil
    }

    private static func number(_ rest: inout Scalars) -> SlowJSON? {
        var literal = ""
        func isDigit(_ scalar: Unicode.Scalar?) -> Bool { scalar.map { ("0"..."9").contains($0) } ?? false }
        func digits(_ rest: inout Scalars) -> Int {
            let digits = rest.prefix(while: isDigit)
            rest = rest.dropFirst(digits.count)
            literal.unicodeScalars.append(contentsOf: digits)
            return digits.count
        }
        if self.take("-", &rest) { literal += "-" }
        if rest.first == "0", isDigit(rest.dropFirst().first) { return nil }
        guard digits(&rest) > 0 else { return nil }
        if self.take(".", &rest) {
            literal += "."
            guard digits(&rest) > 0 else { return nil }
        }
        if self.take("e", &rest) || self.take("E", &rest) {
            literal += "e"
            if self.take("+", &rest) { literal += "+" } else if self.take("-", &rest) { literal += "-" }
            guard digits(&rest) > 0 else { return nil }
        }
        return .number(literal)
    }
}
