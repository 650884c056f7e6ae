/// Reads a client's frame: envelope, then payload against the schema of its type. Touches each byte twice at most,
/// and decodes nothing that nobody asked for.
package enum FrameDecoder {
    /// The outer object of every frame (contract §2).
    package struct Envelope: Sendable {
        package var type: String
        package var requestID: String?
        /// Where the payload stands in the message.
        var payload: Range<Int>
    }

    /// Why a message is no frame. `requestID` is what could be read of it, so that the error can be matched.
    package struct Failure: Error, Equatable {
        package var violation: PayloadViolation
        package var requestID: String?

        package init(violation: PayloadViolation, requestID: String?) {
            self.violation = violation
            self.requestID = requestID
        }
    }

    /// Reads the envelope. The message must be valid UTF-8.
    package static func envelope(of message: [UInt8]) throws(Failure) -> Envelope {
        var type: String?
        var requestID: String?
        var hasRequestID = false
        var payload: Range<Int>?
        var violation: PayloadViolation?
        do throws(JSONCursor.Malformed) {
            try message.withUnsafeBufferPointer { text throws(JSONCursor.Malformed) in
                var cursor = JSONCursor(text)
                guard cursor.peek() == UInt8(ascii: "{") else { throw JSONCursor.Malformed() }
                try cursor.members(depth: 0) { cursor, name throws(JSONCursor.Malformed) in
                    let key = Self.string(name, in: cursor)
                    let first = cursor.peek()
                    let start = cursor.position
                    switch key {
                    case "type":
                        guard first == UInt8(ascii: "\""), type == nil else {
                            violation = violation ?? PayloadViolation("type", "must be one string")
                            return try cursor.skip(depth: 1)
                        }
                        type = Self.string(try cursor.string(), in: cursor)
                    case "requestId":
                        let isFirst = !hasRequestID
                        hasRequestID = true
                        if first == UInt8(ascii: "n"), isFirst { return try cursor.literal("null") }
                        guard first == UInt8(ascii: "\""), isFirst else {
                            violation = violation ?? PayloadViolation("requestId", "must be one string")
                            return try cursor.skip(depth: 1)
                        }
                        let value = Self.string(try cursor.string(), in: cursor)
                        guard Limits.requestIDCharacters.contains(value.utf8.count),
                            value.utf8.allSatisfy({ (0x20...0x7E).contains($0) })
                        else {
                            violation =
                                violation ?? PayloadViolation("requestId", "must be 1 to 64 printable ASCII characters")
                            return
                        }
                        requestID = value
                    case "payload":
                        try cursor.skip(depth: 1)
                        if first == UInt8(ascii: "{"), payload == nil {
                            payload = start..<cursor.position
                        } else {
                            violation = violation ?? PayloadViolation("payload", "must be one object")
                        }
                    default: try cursor.skip(depth: 1)
                    }
                }
                try cursor.end()
            }
        } catch {
            throw Failure(violation: PayloadViolation("", "the message is not a JSON object"), requestID: nil)
        }
        if let violation { throw Failure(violation: violation, requestID: requestID) }
        guard let type else { throw Failure(violation: PayloadViolation("type", "is missing"), requestID: requestID) }
        guard let payload else {
            throw Failure(violation: PayloadViolation("payload", "is missing"), requestID: requestID)
        }
        return Envelope(type: type, requestID: requestID, payload: payload)
    }

    /// Checks the payload against a schema.
    package static func payload(
        _ envelope: Envelope, of message: [UInt8], schema: ObjectSchema
    ) throws(PayloadViolation) -> Payload {
        try Self.payload(at: envelope.payload, of: message, schema: schema)
    }

    /// Checks a message that is a payload and nothing else, as services pass them on. It must be valid UTF-8.
    package static func payload(bare message: [UInt8], schema: ObjectSchema) throws(PayloadViolation) -> Payload {
        guard message.first == UInt8(ascii: "{") else { throw PayloadViolation("", "must be an object") }
        return try Self.payload(at: 0..<message.count, of: message, schema: schema)
    }

    /// The same, for an object that a program on this side has written: fields that the schema does not know are refused.
    /// - Throws: without a field if it is no JSON object.
    package static func payload(strict message: [UInt8], schema: ObjectSchema) throws(PayloadViolation) -> Payload {
        let payload = try Self.payload(bare: message, schema: schema)
        var unknown: String?
        message.withUnsafeBufferPointer { text in
            var cursor = JSONCursor(text)
            try? cursor.members(depth: 1) { cursor, name throws(JSONCursor.Malformed) in
                if Self.field(name, in: cursor, schema: schema, hint: 0) == nil {
                    unknown = unknown ?? Self.string(name, in: cursor)
                }
                try cursor.skip(depth: 2)
            }
        }
        if let unknown { throw PayloadViolation(String(unknown.prefix(64)), "is unknown") }
        for index in schema.fields.indices where payload.slots[index].hasUnknownFields {
            throw PayloadViolation(schema.fields[index].name, "has an unknown field")
        }
        return payload
    }

    private static func payload(
        at range: Range<Int>, of message: [UInt8], schema: ObjectSchema
    ) throws(PayloadViolation) -> Payload {
        var payload = Payload(
            schema: schema, source: message, slots: [Payload.Slot](repeating: .init(), count: schema.fields.count))
        var violation: PayloadViolation?
        var hint = 0
        message.withUnsafeBufferPointer { text in
            var cursor = JSONCursor(UnsafeBufferPointer(rebasing: text[..<range.upperBound]), at: range.lowerBound)
            do throws(JSONCursor.Malformed) {
                try cursor.members(depth: 1) { cursor, name throws(JSONCursor.Malformed) in
                    guard let index = Self.field(name, in: cursor, schema: schema, hint: hint), violation == nil else {
                        return try cursor.skip(depth: 2)
                    }
                    hint = index + 1
                    let field = schema.fields[index]
                    guard payload.slots[index].raw.isEmpty else {
                        violation = PayloadViolation(field.name, "is given twice")
                        return try cursor.skip(depth: 2)
                    }
                    var slot = Payload.Slot()
                    let isNull = cursor.peek() == UInt8(ascii: "n")
                    let start = cursor.position
                    if isNull {
                        try cursor.literal("null")
                        slot.isNull = true
                        if field.presence == .required { violation = PayloadViolation(field.name, "must not be null") }
                    } else if let rule = try Self.check(field.type, &cursor, &slot, &payload.scratch, depth: 2) {
                        violation = PayloadViolation(field.name, rule)
                    }
                    slot.raw = Int32(start)..<Int32(cursor.position)
                    payload.slots[index] = slot
                }
                try cursor.end()
            } catch {
                violation = violation ?? PayloadViolation("", "the payload is not a JSON object")
            }
        }
        if let violation { throw violation }
        for index in schema.fields.indices where schema.fields[index].presence == .required {
            guard !payload.slots[index].raw.isEmpty else {
                throw PayloadViolation(schema.fields[index].name, "is missing")
            }
        }
        return payload
    }

    private static func field(
        _ name: (content: Range<Int>, escaped: Bool), in cursor: JSONCursor, schema: ObjectSchema, hint: Int
    ) -> Int? {
        if name.escaped {
            return cursor.unescape(name.content).withUnsafeBufferPointer { schema.index(of: $0, hint: hint) }
        }
        return schema.index(of: UnsafeBufferPointer(rebasing: cursor.text[name.content]), hint: hint)
    }

    private static func string(_ string: (content: Range<Int>, escaped: Bool), in cursor: JSONCursor) -> String {
        string.escaped
            ? String(decoding: cursor.unescape(string.content), as: UTF8.self)
            : String(decoding: UnsafeBufferPointer(rebasing: cursor.text[string.content]), as: UTF8.self)
    }

    /// Consumes one value. - Returns: the rule that it breaks, if any.
    private static func check(
        _ type: FieldType, _ cursor: inout JSONCursor, _ slot: inout Payload.Slot, _ scratch: inout [UInt8], depth: Int
    ) throws(JSONCursor.Malformed) -> String? {
        let first = cursor.peek()
        switch type {
        case .version, .timestamp, .integer:
            guard first == UInt8(ascii: "-") || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
                try cursor.skip(depth: depth)
                return "must be an integer"
            }
            guard let value = try cursor.integer() else { return "must be an integer without fraction or exponent" }
            slot.integer = value
            return Self.integerRule(type, value)
        case .bool:
            try cursor.skip(depth: depth)
            guard first == UInt8(ascii: "t") || first == UInt8(ascii: "f") else { return "must be true or false" }
            slot.integer = first == UInt8(ascii: "t") ? 1 : 0
            return nil
        case .object(let schema):
            guard first == UInt8(ascii: "{") else {
                try cursor.skip(depth: depth)
                return "must be an object"
            }
            return try Self.checkObject(schema, &cursor, &slot, depth: depth)
        case .array(let element, let count):
            guard first == UInt8(ascii: "[") else {
                try cursor.skip(depth: depth)
                return "must be an array"
            }
            return try Self.checkArray(of: element, count: count, &cursor, &slot, depth: depth)
        case .reactions:
            guard first == UInt8(ascii: "{") else {
                try cursor.skip(depth: depth)
                return "must be an object"
            }
            return try Self.checkReactions(&cursor, depth: depth)
        default:
            guard first == UInt8(ascii: "\"") else {
                try cursor.skip(depth: depth)
                return "must be a string"
            }
            let string = try cursor.string()
            if string.escaped {
                let text = cursor.unescape(string.content)
                slot.isInScratch = true
                slot.isPlain = Self.isPlain(type)
                slot.text = Int32(scratch.count)..<Int32(scratch.count + text.count)
                scratch += text
                return text.withUnsafeBufferPointer { Self.stringRule(type, $0) }
            }
            slot.text = Int32(string.content.lowerBound)..<Int32(string.content.upperBound)
            return Self.stringRule(type, UnsafeBufferPointer(rebasing: cursor.text[string.content]))
        }
    }

    /// Whether valid text of this type consists of characters that JSON never escapes.
    private static func isPlain(_ type: FieldType) -> Bool {
        switch type {
        case .text, .sessionToken: false
        default: true
        }
    }

    private static func integerRule(_ type: FieldType, _ value: Int64) -> String? {
        switch type {
        case .version: value == 1 ? nil : "must be 1, the only version"
        case .timestamp:
            Limits.timestamps.contains(value)
                ? nil
                : "must be milliseconds since 1970, \(Limits.timestamps.lowerBound) to \(Limits.timestamps.upperBound)"
        case .integer(let range): range.contains(value) ? nil : "must be \(range.lowerBound) to \(range.upperBound)"
        default: nil
        }
    }

    private static func stringRule(_ type: FieldType, _ text: UnsafeBufferPointer<UInt8>) -> String? {
        switch type {
        case .sessionToken: return nil
        case .whisperID:
            return WhisperID(ascii: text) != nil ? nil : "must be a Whisper ID (WSP-XXXX-XXXX-XXXX)"
        case .uuid: return UUIDText(ascii: text) != nil ? nil : "must be a UUID"
        case .uuidV4:
            return UUIDText(ascii: text)?.isVersion4 == true ? nil : "must be a UUID of version 4"
        case .lowerCaseUUID: return ConversationID(ascii: text) != nil ? nil : "must be a UUID in lower case"
        case .guestID: return GuestID(ascii: text) != nil ? nil : "must be gst- and 32 hexadecimal digits in lower case"
        case .principalID:
            return PrincipalID(ascii: text) != nil ? nil : "must be a Whisper ID or a guest's id (gst-…)"
        case .groupID: return GroupIDText.isValid(text) ? nil : "must be grp- and a UUID"
        case .base64(let range):
            guard let count = Base64.decodedCount(text) else { return "must be canonical padded base64" }
            guard !range.contains(count) else { return nil }
            return range.count == 1
                ? "must be base64 of exactly \(range.lowerBound) bytes"
                : "must be base64 of \(range.lowerBound) to \(range.upperBound) bytes"
        case .text(let range):
            var scalars = 0
            for byte in text {
                if byte == 0 { return "must not contain NUL" }
                // Every byte but a UTF-8 continuation starts a scalar.
                if byte & 0xC0 != 0x80 { scalars += 1 }
            }
            return range.contains(scalars) ? nil : "must be \(range.lowerBound) to \(range.upperBound) characters"
        case .digits(let range):
            return range.contains(text.count)
                && text.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) })
                ? nil : "must be \(range.lowerBound) to \(range.upperBound) digits"
        case .choice(let words):
            return words.contains { text.elementsEqual($0.utf8) }
                ? nil : "must be one of \(words.joined(separator: ", "))"
        default: return nil
        }
    }

    private static func checkObject(
        _ schema: ObjectSchema, _ cursor: inout JSONCursor, _ slot: inout Payload.Slot, depth: Int
    ) throws(JSONCursor.Malformed) -> String? {
        var seen = [Bool](repeating: false, count: schema.fields.count)
        var rule: String?
        var hint = 0
        try cursor.members(depth: depth) { cursor, name throws(JSONCursor.Malformed) in
            guard let index = Self.field(name, in: cursor, schema: schema, hint: hint) else {
                slot.hasUnknownFields = true
                return try cursor.skip(depth: depth + 1)
            }
            hint = index + 1
            let field = schema.fields[index]
            if seen[index] { rule = rule ?? "\(field.name) is given twice" }
            seen[index] = true
            if cursor.peek() == UInt8(ascii: "n") {
                try cursor.literal("null")
                if field.presence == .required { rule = rule ?? "\(field.name) must not be null" }
                // Written anew without it: null equals absent.
                slot.hasUnknownFields = true
                return
            }
            var inner = Payload.Slot()
            var scratch: [UInt8] = []
            if let broken = try Self.check(field.type, &cursor, &inner, &scratch, depth: depth + 1) {
                rule = rule ?? "\(field.name) \(broken)"
            }
            if inner.hasUnknownFields { slot.hasUnknownFields = true }
        }
        for index in schema.fields.indices where schema.fields[index].presence == .required && !seen[index] {
            rule = rule ?? "\(schema.fields[index].name) is missing"
        }
        return rule
    }

    private static func checkArray(
        of element: FieldType, count range: ClosedRange<Int>, _ cursor: inout JSONCursor, _ slot: inout Payload.Slot,
        depth: Int
    ) throws(JSONCursor.Malformed) -> String? {
        var count = 0
        var rule: String?
        try cursor.elements(depth: depth) { cursor throws(JSONCursor.Malformed) in
            count += 1
            var inner = Payload.Slot()
            var scratch: [UInt8] = []
            if let broken = try Self.check(element, &cursor, &inner, &scratch, depth: depth + 1) {
                rule = rule ?? "each element \(broken)"
            }
            if inner.hasUnknownFields { slot.hasUnknownFields = true }
        }
        return rule ?? (range.contains(count) ? nil : "must have \(range.lowerBound) to \(range.upperBound) elements")
    }

    private static func checkReactions(
        _ cursor: inout JSONCursor, depth: Int
    ) throws(JSONCursor.Malformed) -> String? {
        var names: Set<[UInt8]> = []
        var count = 0
        var rule: String?
        let ids = FieldType.array(of: .whisperID, count: 0...Limits.reactionIdentitiesMax)
        try cursor.members(depth: depth) { cursor, name throws(JSONCursor.Malformed) in
            count += 1
            let text = name.escaped ? cursor.unescape(name.content) : Array(cursor.text[name.content])
            if let broken = text.withUnsafeBufferPointer({ Self.stringRule(.text(Limits.reactionCharacters), $0) }) {
                rule = rule ?? "a reaction \(broken)"
            }
            // Past the bound the frame is refused anyway: the set stays small.
            if count <= Limits.reactionsMax, !names.insert(text).inserted { rule = rule ?? "a reaction is given twice" }
            var inner = Payload.Slot()
            var scratch: [UInt8] = []
            if cursor.peek() == UInt8(ascii: "n") { rule = rule ?? "a reaction needs a list of Whisper IDs" }
            if let broken = try Self.check(ids, &cursor, &inner, &scratch, depth: depth + 1) {
                rule = rule ?? "a reaction's list \(broken)"
            }
        }
        return rule ?? (count <= Limits.reactionsMax ? nil : "must have at most \(Limits.reactionsMax) reactions")
    }

    /// Writes a value that satisfies its type anew, without what the schemas of the objects in it do not know.
    static func appendKnown(
        _ type: FieldType, _ text: UnsafeBufferPointer<UInt8>, at start: Int, to output: inout [UInt8]
    ) throws(Payload.Corrupted) {
        var cursor = JSONCursor(text, at: start)
        do throws(JSONCursor.Malformed) {
            try Self.appendKnown(type, &cursor, to: &output)
        } catch {
            throw Payload.Corrupted()
        }
    }

    private static func appendKnown(
        _ type: FieldType, _ cursor: inout JSONCursor, to output: inout [UInt8]
    ) throws(JSONCursor.Malformed) {
        switch type {
        case .object(let schema): try Self.appendKnownFields(of: schema, &cursor, to: &output)
        case .array(of: let element, _):
            var isFirst = true
            output.append(UInt8(ascii: "["))
            try cursor.elements(depth: 0) { cursor throws(JSONCursor.Malformed) in
                if !isFirst { output.append(UInt8(ascii: ",")) }
                isFirst = false
                try Self.appendKnown(element, &cursor, to: &output)
            }
            output.append(UInt8(ascii: "]"))
        default:
            _ = cursor.peek()
            let start = cursor.position
            try cursor.skip()
            output += cursor.text[start..<cursor.position]
        }
    }

    private static func appendKnownFields(
        of schema: ObjectSchema, _ cursor: inout JSONCursor, to output: inout [UInt8]
    ) throws(JSONCursor.Malformed) {
        var isFirst = true
        output.append(UInt8(ascii: "{"))
        try cursor.members(depth: 0) { cursor, name throws(JSONCursor.Malformed) in
            guard let index = Self.field(name, in: cursor, schema: schema, hint: 0),
                cursor.peek() != UInt8(ascii: "n")
            else { return try cursor.skip() }
            let field = schema.fields[index]
            if !isFirst { output.append(UInt8(ascii: ",")) }
            isFirst = false
            output.append(UInt8(ascii: "\""))
            output += field.nameBytes
            output += "\":".utf8
            try Self.appendKnown(field.type, &cursor, to: &output)
        }
        output.append(UInt8(ascii: "}"))
    }
}
