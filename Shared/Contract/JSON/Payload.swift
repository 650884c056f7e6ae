/// A frame's payload that satisfies its schema: the bytes as received, and where each field's value stands in them.
/// Nothing is copied out until somebody asks.
package struct Payload: Sendable {
    package let schema: ObjectSchema
    /// The whole WebSocket message.
    let source: [UInt8]
    /// Text of strings that came with escapes.
    var scratch: [UInt8] = []
    var slots: [Slot]

    /// Where a value stands.
    struct Slot: Sendable {
        /// The JSON value as written; empty if the field is absent.
        var raw: Range<Int32> = 0..<0
        /// A string's text: in `source`, or in `scratch` if it had escapes.
        var text: Range<Int32> = 0..<0
        var isInScratch = false
        /// A string whose text never needs escapes, so it can be written from `text`.
        var isPlain = false
        var isNull = false
        /// Objects, and lists of them: they hold fields that are not in the schema, and must be written anew to be passed on.
        var hasUnknownFields = false
        var integer: Int64 = 0

        var isPresent: Bool { !self.raw.isEmpty && !self.isNull }
    }

    /// A value that satisfied its type when the frame was read does not when it is read again: a bug of ours, never the
    /// client's fault. The code that catches it logs an error and answers INTERNAL_ERROR.
    package struct Corrupted: Error, Equatable {
        package init() {}
    }

    package func has(_ field: Int) -> Bool { self.slots[field].isPresent }
    /// The field was given as `null`.
    package func isNull(_ field: Int) -> Bool { self.slots[field].isNull }

    /// A string's text as UTF-8.
    @inline(__always)
    package func withText<R>(_ field: Int, _ body: (UnsafeBufferPointer<UInt8>) -> R) -> R {
        let slot = self.slots[field]
        let range = Int(slot.text.lowerBound)..<Int(slot.text.upperBound)
        if slot.isInScratch {
            return self.scratch.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[range])) }
        }
        return self.source.withUnsafeBufferPointer { body(UnsafeBufferPointer(rebasing: $0[range])) }
    }

    package func text(_ field: Int) -> String {
        self.withText(field) { String(decoding: $0, as: UTF8.self) }
    }

    package func whisperID(_ field: Int) -> WhisperID { self.withText(field) { WhisperID(ascii: $0)! } }
    package func uuid(_ field: Int) -> UUIDText { self.withText(field) { UUIDText(ascii: $0)! } }
    package func bytes(_ field: Int) -> [UInt8] { self.withText(field) { Base64.decode($0)! } }
    package func integer(_ field: Int) -> Int64 { self.slots[field].integer }
    package func bool(_ field: Int) -> Bool { self.slots[field].integer == 1 }
    package func timestamp(_ field: Int) -> Timestamp { Timestamp(milliseconds: self.slots[field].integer) }

    /// A group id's UUID.
    package func groupID(_ field: Int) -> UUIDText {
        self.withText(field) { UUIDText(ascii: $0.dropFirst(GroupIDText.prefix.count))! }
    }

    /// A list of ids, in the order given; empty if the field is absent.
    package func whisperIDs(_ field: Int) throws(Corrupted) -> [WhisperID] {
        var ids: [WhisperID] = []
        try self.forEachElement(field) { cursor throws(JSONCursor.Malformed) in
            let text = cursor.unescape(try cursor.string().content)
            guard let id = WhisperID(ascii: text) else { throw JSONCursor.Malformed() }
            ids.append(id)
        }
        return ids
    }

    /// The same of identities and guests.
    package func principalIDs(_ field: Int) throws(Corrupted) -> [PrincipalID] {
        var ids: [PrincipalID] = []
        try self.forEachElement(field) { cursor throws(JSONCursor.Malformed) in
            let text = cursor.unescape(try cursor.string().content)
            guard let id = PrincipalID(ascii: text) else { throw JSONCursor.Malformed() }
            ids.append(id)
        }
        return ids
    }

    /// A list of texts, in the order given; empty if the field is absent.
    package func texts(_ field: Int) throws(Corrupted) -> [String] {
        var texts: [String] = []
        try self.forEachElement(field) { cursor throws(JSONCursor.Malformed) in
            texts.append(String(decoding: cursor.unescape(try cursor.string().content), as: UTF8.self))
        }
        return texts
    }

    /// A list of integers, in the order given; empty if the field is absent.
    package func integers(_ field: Int) throws(Corrupted) -> [Int64] {
        var integers: [Int64] = []
        try self.forEachElement(field) { cursor throws(JSONCursor.Malformed) in
            guard let integer = try cursor.integer() else { throw JSONCursor.Malformed() }
            integers.append(integer)
        }
        return integers
    }

    /// A list of objects, each a payload of the element's schema; empty if the field is absent.
    package func objects(_ field: Int) throws(Corrupted) -> [Payload] {
        guard case .array(of: .object(let schema), _) = self.schema.fields[field].type else { return [] }
        var objects: [Payload] = []
        try self.forEachElement(field) { cursor throws(JSONCursor.Malformed) in
            _ = cursor.peek()
            let start = cursor.position
            try cursor.skip()
            let object = Array(cursor.text[start..<cursor.position])
            do throws(PayloadViolation) {
                objects.append(try FrameDecoder.payload(bare: object, schema: schema))
            } catch {
                throw JSONCursor.Malformed()
            }
        }
        return objects
    }

    /// An object, as a payload of its own schema.
    package func object(_ field: Int) throws(Corrupted) -> Payload? {
        guard self.has(field), case .object(let schema) = self.schema.fields[field].type else { return nil }
        var json: [UInt8] = []
        try self.appendJSON(field, to: &json)
        do throws(PayloadViolation) {
            return try FrameDecoder.payload(bare: json, schema: schema)
        } catch {
            throw Corrupted()
        }
    }

    /// `body` must consume each element.
    private func forEachElement(
        _ field: Int, _ body: (inout JSONCursor) throws(JSONCursor.Malformed) -> Void
    ) throws(Corrupted) {
        guard self.has(field) else { return }
        do throws(JSONCursor.Malformed) {
            try self.source.withUnsafeBufferPointer { text throws(JSONCursor.Malformed) in
                var cursor = JSONCursor(text, at: Int(self.slots[field].raw.lowerBound))
                try cursor.elements(depth: 0, body)
            }
        } catch {
            throw Corrupted()
        }
    }

    /// Appends the value as JSON, with unknown fields left out.
    package func appendJSON(_ field: Int, to output: inout [UInt8]) throws(Corrupted) {
        let slot = self.slots[field]
        guard slot.hasUnknownFields else { return self.appendWritten(field, to: &output) }
        try self.source.withUnsafeBufferPointer { text throws(Corrupted) in
            try FrameDecoder.appendKnown(
                self.schema.fields[field].type, text, at: Int(slot.raw.lowerBound), to: &output)
        }
    }

    /// Appends the value as JSON. For fields whose type has no objects in it.
    func appendWritten(_ field: Int, to output: inout [UInt8]) {
        let slot = self.slots[field]
        assert(!slot.hasUnknownFields, "an object is relayed with fields that nobody knows")
        if slot.isInScratch && slot.isPlain {
            output.append(UInt8(ascii: "\""))
            output.append(contentsOf: self.scratch[Int(slot.text.lowerBound)..<Int(slot.text.upperBound)])
            output.append(UInt8(ascii: "\""))
            return
        }
        output.append(contentsOf: self.source[Int(slot.raw.lowerBound)..<Int(slot.raw.upperBound)])
    }

    /// The payload as a JSON object with only its known, present fields, except those named.
    package func json(without excluded: [String] = []) throws(Corrupted) -> [UInt8] {
        var output: [UInt8] = [UInt8(ascii: "{")]
        output.reserveCapacity(self.source.count)
        for index in self.schema.fields.indices {
            let field = self.schema.fields[index]
            guard !self.slots[index].raw.isEmpty, !excluded.contains(field.name) else { continue }
            if output.count > 1 { output.append(UInt8(ascii: ",")) }
            output.append(UInt8(ascii: "\""))
            output.append(contentsOf: field.nameBytes)
            output.append(contentsOf: "\":".utf8)
            try self.appendJSON(index, to: &output)
        }
        output.append(UInt8(ascii: "}"))
        return output
    }
}

/// How a group's id is written: `grp-` and a UUID.
package enum GroupIDText {
    package static let prefix = "grp-"

    package static func uuid(_ id: String) -> UUIDText? {
        id.hasPrefix(Self.prefix) ? UUIDText(ascii: id.utf8.dropFirst(Self.prefix.utf8.count)) : nil
    }

    package static func isValid(_ text: UnsafeBufferPointer<UInt8>) -> Bool {
        text.count == 4 + UUIDText.textLength && text.prefix(4).elementsEqual(Self.prefix.utf8)
            && UUIDText(ascii: text.dropFirst(4)) != nil
    }
}
