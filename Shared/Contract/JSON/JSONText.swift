/// One JSON text, taken apart at its outermost level: for envelopes around JSON that somebody else reads.
package enum JSONText {
    case object(JSONMembers)
    /// The texts of the elements.
    case array([[UInt8]])
    /// A value of another type, or an object that has a member twice.
    case other

    /// - Returns: `nil` if the text is no JSON in UTF-8.
    package init?(_ text: [UInt8]) {
        guard String(validating: text, as: UTF8.self) != nil else { return nil }
        do throws(JSONCursor.Malformed) {
            self = try text.withUnsafeBufferPointer { bytes throws(JSONCursor.Malformed) in
                var cursor = JSONCursor(bytes)
                let read = try Self.read(&cursor)
                try cursor.end()
                return read
            }
        } catch {
            return nil
        }
    }

    private static func read(_ cursor: inout JSONCursor) throws(JSONCursor.Malformed) -> JSONText {
        switch cursor.peek() {
        case UInt8(ascii: "{"):
            var texts: [String: [UInt8]] = [:]
            var isTwice = false
            try cursor.members(depth: 0) { cursor, name throws(JSONCursor.Malformed) in
                let key = String(decoding: cursor.unescape(name.content), as: UTF8.self)
                let text = try Self.value(&cursor)
                if texts.updateValue(text, forKey: key) != nil { isTwice = true }
            }
            return isTwice ? .other : .object(JSONMembers(texts: texts))
        case UInt8(ascii: "["):
            var texts: [[UInt8]] = []
            try cursor.elements(depth: 0) { cursor throws(JSONCursor.Malformed) in
                texts.append(try Self.value(&cursor))
            }
            return .array(texts)
        default:
            try cursor.skip()
            return .other
        }
    }

    private static func value(_ cursor: inout JSONCursor) throws(JSONCursor.Malformed) -> [UInt8] {
        _ = cursor.peek()
        let start = cursor.position
        try cursor.skip(depth: 1)
        return Array(cursor.text[start..<cursor.position])
    }
}

/// The members of one JSON object, as they are written.
package struct JSONMembers {
    fileprivate let texts: [String: [UInt8]]

    package var names: [String] { Array(self.texts.keys) }

    /// The text of a value.
    package subscript(_ name: String) -> [UInt8]? { self.texts[name] }

    /// The value, if it is a string.
    package func string(_ name: String) -> String? {
        guard let text = self.texts[name], text.first == UInt8(ascii: "\"") else { return nil }
        return text.withUnsafeBufferPointer { bytes in
            var cursor = JSONCursor(bytes)
            guard let content = try? cursor.string().content else { return nil }
            return String(decoding: cursor.unescape(content), as: UTF8.self)
        }
    }
}
