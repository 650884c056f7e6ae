/// Reads the little XML that S3 answers with: elements and their text. Attributes, comments and namespaces are passed over.
package struct XMLText: Sendable {
    package final class Element: Sendable {
        package let name: String
        package let text: String
        package let children: [Element]

        init(name: String, text: String, children: [Element]) {
            self.name = name
            self.text = text
            self.children = children
        }

        /// The text of the first child of this name.
        package subscript(name: String) -> String? { self.children.first { $0.name == name }?.text }
        package func all(_ name: String) -> [Element] { self.children.filter { $0.name == name } }
    }

    /// Elements inside elements; S3's answers have four.
    private static let depthMax = 16

    /// - Returns: the outermost element; nil if the text is not well formed.
    package static func root(of bytes: [UInt8]) -> Element? {
        var reader = Reader(bytes: bytes)
        return reader.element(depth: 0)
    }

    private struct Reader {
        let bytes: [UInt8]
        var position = 0

        init(bytes: [UInt8]) { self.bytes = bytes }

        /// Passes over everything before the next element.
        mutating func element(depth: Int) -> Element? {
            guard depth < XMLText.depthMax else { return nil }
            while let tag = self.tag() {
                guard tag.first != UInt8(ascii: "?"), tag.first != UInt8(ascii: "!") else { continue }
                return self.element(opening: tag, depth: depth)
            }
            return nil
        }

        private mutating func element(opening tag: ArraySlice<UInt8>, depth: Int) -> Element? {
            guard depth < XMLText.depthMax else { return nil }
            let isEmpty = tag.last == UInt8(ascii: "/")
            let word = tag.prefix { $0 > 0x20 && $0 != UInt8(ascii: "/") }
            guard !word.isEmpty else { return nil }
            let name = String(decoding: word.split(separator: UInt8(ascii: ":")).last ?? word, as: UTF8.self)
            if isEmpty { return Element(name: name, text: "", children: []) }
            var text: [UInt8] = []
            var children: [Element] = []
            while true {
                let start = self.position
                while self.position < self.bytes.count, self.bytes[self.position] != UInt8(ascii: "<") {
                    self.position += 1
                }
                text += self.bytes[start..<self.position]
                guard let inner = self.tag() else { return nil }
                switch inner.first {
                case UInt8(ascii: "/"):
                    guard inner.dropFirst().elementsEqual(word) else { return nil }
                    return Element(
                        name: name, text: Self.unescaped(String(decoding: text, as: UTF8.self)), children: children)
                case UInt8(ascii: "?"), UInt8(ascii: "!"): continue
                default:
                    guard let child = self.element(opening: inner, depth: depth + 1) else { return nil }
                    children.append(child)
                }
            }
        }

        /// The bytes between the next `<` and its `>`.
        private mutating func tag() -> ArraySlice<UInt8>? {
            guard let open = self.bytes[self.position...].firstIndex(of: UInt8(ascii: "<")),
                let close = self.bytes[open...].firstIndex(of: UInt8(ascii: ">"))
            else { return nil }
            self.position = close + 1
            return self.bytes[(open + 1)..<close]
        }

        private static let entities = ["amp": "&", "lt": "<", "gt": ">", "quot": "\"", "apos": "'"]

        private static func unescaped(_ text: String) -> String {
            guard text.contains("&") else { return text }
            var result = ""
            var rest = text[...]
            while let mark = rest.firstIndex(of: "&") {
                result += rest[..<mark]
                rest = rest[rest.index(after: mark)...]
                guard let end = rest.firstIndex(of: ";") else { return result + "&" + rest }
                let name = rest[..<end]
                if let character = Self.entities[String(name)] {
                    result += character
                } else if name.hasPrefix("#"), let scalar = Self.scalar(name.dropFirst()) {
                    result.unicodeScalars.append(scalar)
                }
                rest = rest[rest.index(after: end)...]
            }
            return result + rest
        }

        private static func scalar(_ digits: Substring) -> UnicodeScalar? {
            let value = digits.hasPrefix("x") ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
            return value.flatMap { UnicodeScalar($0) }
        }
    }
}
