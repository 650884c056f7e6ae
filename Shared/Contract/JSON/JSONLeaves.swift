/// The strings and whole numbers of a small JSON text that somebody else's server sent, each under its path:
/// `error.details.errorCode`. Elements of an array stand under the path of the array.
///
/// For answers of other people's servers, whose shape is theirs to extend; what clients send is read by schema.
package struct JSONLeaves: Sendable {
    /// Longest text that is read, in bytes.
    package static let bytesMax = 64 * 1_024

    private var values: [String: [String]] = [:]

    /// - Returns: nil if the text is too long, or not one JSON object in UTF-8.
    package init?(_ text: [UInt8]) {
        guard text.count <= Self.bytesMax, String(validating: text, as: UTF8.self) != nil else { return nil }
        let isRead = text.withUnsafeBufferPointer { text in
            var cursor = JSONCursor(text)
            do {
                guard cursor.peek() == UInt8(ascii: "{") else { return false }
                try self.read(&cursor, at: "", depth: 0)
                try cursor.end()
                return true
            } catch {
                return false
            }
        }
        guard isRead else { return nil }
    }

    /// The first value under a path.
    package subscript(path: String) -> String? { self.values[path]?.first }

    /// All values under a path, in the order of the text.
    package func all(_ path: String) -> [String] { self.values[path] ?? [] }

    private mutating func read(_ cursor: inout JSONCursor, at path: String, depth: Int) throws(JSONCursor.Malformed) {
        switch cursor.peek() {
        case UInt8(ascii: "{"):
            guard depth < Limits.jsonDepthMax else { throw JSONCursor.Malformed() }
            try cursor.expect(UInt8(ascii: "{"))
            if cursor.peek() == UInt8(ascii: "}") { return try cursor.expect(UInt8(ascii: "}")) }
            while true {
                let name = try Self.string(&cursor)
                try cursor.expect(UInt8(ascii: ":"))
                try self.read(&cursor, at: path.isEmpty ? name : "\(path).\(name)", depth: depth + 1)
                guard cursor.peek() == UInt8(ascii: ",") else { return try cursor.expect(UInt8(ascii: "}")) }
                try cursor.expect(UInt8(ascii: ","))
            }
        case UInt8(ascii: "["):
            guard depth < Limits.jsonDepthMax else { throw JSONCursor.Malformed() }
            try cursor.expect(UInt8(ascii: "["))
            if cursor.peek() == UInt8(ascii: "]") { return try cursor.expect(UInt8(ascii: "]")) }
            while true {
                try self.read(&cursor, at: path, depth: depth + 1)
                guard cursor.peek() == UInt8(ascii: ",") else { return try cursor.expect(UInt8(ascii: "]")) }
                try cursor.expect(UInt8(ascii: ","))
            }
        case UInt8(ascii: "\""):
            self.values[path, default: []].append(try Self.string(&cursor))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"):
            if let number = try cursor.integer() { self.values[path, default: []].append("\(number)") }
        default:
            try cursor.skip()
        }
    }

    private static func string(_ cursor: inout JSONCursor) throws(JSONCursor.Malformed) -> String {
        let (content, escaped) = try cursor.string()
        return String(decoding: escaped ? cursor.unescape(content) : Array(cursor.text[content]), as: UTF8.self)
    }
}
