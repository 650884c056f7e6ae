import Contract

extension Document {
    /// The value on one line.
    package var line: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .integer(let value): String(value)
        case .string(let value): Self.quoted(value)
        case .array(let elements): "[" + elements.map(\.line).joined(separator: ", ") + "]"
        case .object(let members):
            "{" + members.map { "\(Self.quoted($0.name)): \($0.value.line)" }.joined(separator: ", ") + "}"
        }
    }

    /// The value as a frame carries it: no white space.
    package var compact: String {
        switch self {
        case .array(let elements): "[" + elements.map(\.compact).joined(separator: ",") + "]"
        case .object(let members):
            "{" + members.map { "\(Self.quoted($0.name)):\($0.value.compact)" }.joined(separator: ",") + "}"
        default: self.line
        }
    }

    /// The value for people: one member on a line, what is short in one piece.
    package func text(indent: String = "") -> String {
        let line = self.line
        if line.count + indent.count <= 100 || self.isScalar { return line }
        let inner = indent + "  "
        switch self {
        case .array(let elements):
            return "[\n" + elements.map { inner + $0.text(indent: inner) }.joined(separator: ",\n") + "\n\(indent)]"
        case .object(let members):
            let lines = members.map { "\(inner)\(Self.quoted($0.name)): \($0.value.text(indent: inner))" }
            return "{\n" + lines.joined(separator: ",\n") + "\n\(indent)}"
        default: return line
        }
    }

    private var isScalar: Bool {
        switch self {
        case .array, .object: false
        default: true
        }
    }

    package static func quoted(_ text: String) -> String {
        var output: [UInt8] = []
        JSONWriter.append(string: text, to: &output)
        return String(decoding: output, as: UTF8.self)
    }
}

extension Document {
    /// Reads a sample. Samples are valid JSON with whole numbers: anything else is a mistake in the catalogue.
    package init(sample: String) {
        var rest = Substring(sample).unicodeScalars
        self = Self.value(&rest)
        precondition(rest.isEmpty, "not one JSON value: \(sample)")
    }

    private typealias Scalars = Substring.UnicodeScalarView

    private static func take(_ word: String, _ rest: inout Scalars) -> Bool {
        guard rest.starts(with: word.unicodeScalars) else { return false }
        rest.removeFirst(word.unicodeScalars.count)
        return true
    }

    private static func value(_ rest: inout Scalars) -> Document {
        if self.take("null", &rest) { return .null }
        if self.take("true", &rest) { return .bool(true) }
        if self.take("false", &rest) { return .bool(false) }
        if self.take("\"", &rest) { return .string(self.string(&rest)) }
        if self.take("[", &rest) {
            if self.take("]", &rest) { return .array([]) }
            var elements: [Document] = []
            repeat { elements.append(self.value(&rest)) } while self.take(",", &rest)
            precondition(self.take("]", &rest))
            return .array(elements)
        }
        if self.take("{", &rest) {
            if self.take("}", &rest) { return .object([]) }
            var members: [Member] = []
            repeat {
                precondition(self.take("\"", &rest))
                let name = self.string(&rest)
                precondition(self.take(":", &rest))
                members.append(Member(name: name, value: self.value(&rest)))
            } while self.take(",", &rest)
            precondition(self.take("}", &rest))
            return .object(members)
        }
        let digits = rest.prefix { "-0123456789".unicodeScalars.contains($0) }
        rest.removeFirst(digits.count)
        return .integer(Int64(String(Substring(digits)))!)
    }

    /// Samples have no escapes.
    private static func string(_ rest: inout Scalars) -> String {
        let text = rest.prefix { $0 != "\"" && $0 != "\\" }
        rest.removeFirst(text.count)
        precondition(self.take("\"", &rest))
        return String(Substring(text))
    }
}
