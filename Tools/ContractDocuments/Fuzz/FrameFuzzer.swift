import Contract
import ContractSchema

/// Makes frames from a seed: valid ones, and ones that are wrong in one or two places, mostly at a bound.
package struct FrameFuzzer {
    private var random: Seeded

    package init(seed: UInt64) { self.random = Seeded(seed) }

    /// One frame as JSON text; it may have become invalid in any way.
    private mutating func message(of frame: DocumentedFrame) -> String {
        var members = self.members(of: frame.schema)
        self.repairRules(of: frame, &members)
        if !self.random.chance(3) {
            for _ in 0...self.random.upTo(2) { self.damage(&members, frame.schema) }
        }
        if self.random.chance(4) { members.shuffle(using: &self.random) }
        if self.random.chance(6) { members.append((#""extra""#, self.anything(depth: 3))) }
        var envelope: Members = [
            (#""type""#, Document.quoted(frame.type)), (#""payload""#, Self.object(members)),
        ]
        if self.random.chance(2) { envelope.insert((#""requestId""#, self.requestID()), at: self.random.upTo(3)) }
        if self.random.chance(30) { self.damage(&envelope, ObjectSchema([])) }
        return Self.object(envelope)
    }

    private typealias Members = [(name: String, value: String)]

    private static func object(_ members: Members) -> String {
        "{" + members.map { "\($0.name):\($0.value)" }.joined(separator: ",") + "}"
    }

    private mutating func members(of schema: ObjectSchema) -> Members {
        schema.fields.compactMap { field in
            switch field.presence {
            case .required: break
            case .optional, .clearable:
                if self.random.chance(3) { return nil }
                if self.random.chance(5) { return (Document.quoted(field.name), "null") }
            }
            return (Document.quoted(field.name), self.value(of: field.type))
        }
    }

    /// Random values seldom keep the rules between fields: these do, most of the time.
    private mutating func repairRules(of frame: DocumentedFrame, _ members: inout Members) {
        guard !self.random.chance(8) else { return }
        func set(_ name: String, _ value: String) {
            guard let index = members.firstIndex(where: { $0.name == Document.quoted(name) }) else { return }
            if members[index].value != "null" { members[index].value = value }
        }
        for rule in frame.rules {
            switch rule {
            case .differ, .notBoth, .absent, .notZero: break
            case .among(let name, let numbers): set(name, "\(self.random.one(of: numbers))")
            case .oneOf(let a, let b): set(self.random.one(of: [a, b]), "null")
            case .cursor(let name):
                set(
                    name,
                    self.random.one(of: [#""p1-0""#, #""p1-2a""#, #""p1-7fffffffffffffff""#, #""p1-fffffffffffffff""#]))
            case .groupCursor(let name):
                let middle = String(repeating: "0", count: 43)
                set(
                    name,
                    self.random.one(of: [
                        #""g0-\#(middle)0000000000000000""#, #""g2-\#(middle)7fffffffffffffff""#,
                        #""g1-\#(middle)8000000000000000""#,
                    ]))
            case .bounded(let name, _, _, _): set(name, self.value(of: .base64(1...60)))
            }
        }
    }

    private mutating func damage(_ members: inout Members, _ schema: ObjectSchema) {
        let place = self.random.upTo(max(1, members.count))
        guard place < members.count else { return }
        let name = members[place].name
        switch self.random.upTo(8) {
        case 0: members.remove(at: place)
        case 1: members.append(members[place])
        case 2: members[place].value = "null"
        case 3: members[place].value = self.anything(depth: 3)
        case 4: members[place].value = members[self.random.upTo(members.count)].value
        default:
            guard let field = schema.fields.first(where: { Document.quoted($0.name) == name }) else { return }
            members[place].value = self.borderline(field.type)
        }
    }

    // MARK: Values, as JSON text

    private mutating func value(of type: FieldType) -> String {
        switch type {
        case .version: return "1"
        case .sessionToken: return self.string(0...70)
        case .whisperID: return "\"\(WhisperID(bits: self.random.next() >> 4)!)\""
        case .uuid: return "\"\(self.uuid())\""
        case .uuidV4:
            let (high, low) = (self.random.next(), self.random.next())
            return "\"\(UUIDText(high: high & ~0xF000 | 0x4000, low: (low & ~(3 << 62)) | (2 << 62)))\""
        case .lowerCaseUUID: return "\"\(ConversationID(high: self.random.next(), low: self.random.next()))\""
        case .guestID: return "\"\(self.guestID())\""
        case .principalID:
            return self.random.chance(2) ? self.value(of: .whisperID) : "\"\(self.guestID())\""
        case .groupID: return "\"grp-\(self.uuid())\""
        case .timestamp: return "\(Int64.random(in: 1...2_000_000_000_000, using: &self.random))"
        case .base64(let range):
            let longest = self.random.chance(200) ? range.upperBound : min(range.upperBound, range.lowerBound + 70)
            return self.base64(Int.random(in: range.lowerBound...longest, using: &self.random))
        case .integer(let range): return "\(Int64.random(in: range, using: &self.random))"
        case .bool: return self.random.one(of: ["true", "false"])
        case .text(let range): return self.string(range.lowerBound...min(range.upperBound, range.lowerBound + 20))
        case .digits(let range):
            let count = Int.random(in: range, using: &self.random)
            return Document.quoted((0..<count).map { _ in "\(self.random.upTo(10))" }.joined())
        case .choice(let words): return Document.quoted(self.random.one(of: words))
        case .object(let schema):
            var members = self.members(of: schema)
            if self.random.chance(5) { members.append((#""more""#, self.anything(depth: 2))) }
            return Self.object(members)
        case .array(let element, let range):
            let count = Int.random(
                in: range.lowerBound...min(range.upperBound, range.lowerBound + 3), using: &self.random)
            return "[" + (0..<count).map { _ in self.value(of: element) }.joined(separator: ",") + "]"
        case .reactions:
            let members: Members = (0..<self.random.upTo(3)).map { _ in
                (self.string(1...4), self.value(of: .array(of: .whisperID, count: 0...3)))
            }
            return Self.object(members)
        }
    }

    /// Values on either side of what the type allows.
    private mutating func borderline(_ type: FieldType) -> String {
        let valid = self.value(of: type)
        switch type {
        case .version: return self.random.one(of: ["0", "2", "1.0", "1e0", "-1", "true", #""1""#, "10"])
        case .timestamp, .integer:
            var range = Limits.timestamps
            if case .integer(let own) = type { range = own }
            let (below, underflow) = range.lowerBound.subtractingReportingOverflow(1)
            let (above, overflow) = range.upperBound.addingReportingOverflow(1)
            return self.random.one(of: [
                "\(range.lowerBound)", "\(range.upperBound)", underflow ? "-0" : "\(below)",
                overflow ? "9223372036854775808" : "\(above)", "\(valid).0", "\(valid)e0", "-\(valid)", "0", "-0",
                #""\#(valid)""#, "99999999999999999999999",
            ])
        case .base64(let range):
            let long =
                self.random.chance(20)
                ? range.upperBound + self.random.upTo(4) - 1 : range.lowerBound + self.random.upTo(4)
            let sized = self.base64(min(long, range.upperBound + 3))
            return self.random.one(of: [
                sized, self.strayBits(sized), self.base64(max(0, range.lowerBound - 1)), self.flaw(sized),
                self.flaw(valid),
                sized.replacing("=", with: ""), sized.replacing("A", with: "-"), #""AB==""#, #""AAB=""#, #""AA==""#,
                #""====""#,
            ])
        case .text(let range):
            let long = range.upperBound + self.random.upTo(3) - 1
            return self.random.one(of: [
                self.string(long...long), self.string(max(0, range.lowerBound - 1)...range.lowerBound), #""\u0000""#,
                #""a\u0000b""#, "\"" + String(repeating: "👍", count: range.upperBound) + "\"", self.flaw(valid),
                "\"" + String(repeating: #"\ud83d\udc4d"#, count: range.upperBound) + "\"", #""\ud83d""#, #""\udc4dx""#,
            ])
        case .digits(let range):
            return self.random.one(of: [
                Document.quoted(String(repeating: "7", count: range.upperBound + self.random.upTo(2))),
                Document.quoted(String(repeating: "7", count: range.lowerBound - self.random.upTo(2))), "402917",
                #""40 2917""#, #""٤٠٢٩١٧""#, #""-402917""#, self.flaw(valid),
            ])
        case .array(let element, let range):
            let count = min(range.upperBound, 300) + self.random.upTo(3) - 1
            if self.random.chance(3), case .whisperID = element {
                return "[" + (0..<max(0, count)).map { _ in self.value(of: element) }.joined(separator: ",") + "]"
            }
            return "[\(self.borderline(element))]"
        case .object(let schema):
            var members = self.members(of: schema)
            for _ in 0...self.random.upTo(2) { self.damage(&members, schema) }
            return Self.object(members)
        case .reactions:
            let key = self.random.one(of: [
                self.string(0...0), self.string(32...33), #""a\u0000""#, #""👍""#, #""\ud83d\udc4d""#,
            ])
            let list = self.random.one(of: [
                "[]", "null", "{}", #"["x"]"#, "[null]", self.value(of: .array(of: .whisperID, count: 256...257)),
            ])
            let twice = self.random.chance(3) ? [(key, list)] : []
            if self.random.chance(6) {
                let count = Limits.reactionsMax + self.random.upTo(2)
                return Self.object((0..<count).map { ("\"\($0)\"", "[]") })
            }
            return Self.object([(key, list)] + twice)
        default: return self.flaw(valid)
        }
    }

    /// Base64 with another last symbol: of the right size, but canonical only by chance.
    private mutating func strayBits(_ string: String) -> String {
        guard let last = string.lastIndex(where: { $0 != "=" && $0 != "\"" }) else { return string }
        return string.replacingCharacter(at: last, with: self.random.one(of: Array("ABCDEQghwxyz019+/")))
    }

    /// One character of a string exchanged, added or removed.
    private mutating func flaw(_ string: String) -> String {
        var scalars = Array(string.unicodeScalars)
        guard scalars.count > 2 else { return string }
        let place = 1 + self.random.upTo(scalars.count - 2)
        switch self.random.upTo(6) {
        case 0: scalars.remove(at: place)
        case 1: scalars.insert(scalars[place], at: place)
        case 2: scalars[place] = self.random.one(of: Array("aA0-=+/_ gG189\u{e9}".unicodeScalars))
        case 3: scalars.insert(contentsOf: #"\n"#.unicodeScalars, at: scalars.count - 1)
        case 4: scalars.replaceSubrange(place...place, with: Self.escaped(scalars[place]).unicodeScalars)
        default: return string.uppercased()
        }
        return String(String.UnicodeScalarView(scalars))
    }

    private static func escaped(_ scalar: Unicode.Scalar) -> String {
        guard scalar.value < 0x10000, scalar != "\\", scalar != "\"" else { return String(scalar) }
        let digits = String(scalar.value, radix: 16)
        return #"\u"# + String(repeating: "0", count: 4 - digits.count) + digits
    }

    private mutating func guestID() -> GuestID { GuestID(high: self.random.next(), low: self.random.next()) }

    private mutating func uuid() -> String {
        let digits = Array("0123456789abcdefABCDEF")
        return String("________-____-____-____-____________".map { $0 == "-" ? "-" : self.random.one(of: digits) })
    }

    private mutating func base64(_ count: Int) -> String {
        let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &self.random) }
        return "\"" + String(decoding: Base64.encode(bytes), as: UTF8.self) + "\""
    }

    private mutating func string(_ counts: ClosedRange<Int>) -> String {
        let pieces = [
            "a", "Z", "7", " ", "_", "-", "é", "e\u{301}", "👍", "中", #"\n"#, #"\t"#, #"\""#, #"\\"#, #"\/"#, #"\u00e9"#,
            #"\ud83d\udc4d"#, "\u{7f}", "\u{2028}",
        ]
        let count = Int.random(in: counts, using: &self.random)
        return "\"" + (0..<count).map { _ in self.random.one(of: pieces) }.joined() + "\""
    }

    private mutating func requestID() -> String {
        self.random.one(of: [
            #""r1""#, #""9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10""#, "null", #""""#, "7", #""é""#, #""a\n""#, #""\u0041""#,
            #"" ~""#,
            "\"" + String(repeating: "x", count: 64) + "\"", "\"" + String(repeating: "x", count: 65) + "\"",
        ])
    }

    /// Any JSON value, now and then nested deeper than allowed.
    private mutating func anything(depth: Int) -> String {
        switch self.random.upTo(depth > 0 ? 9 : 6) {
        case 0: return self.random.one(of: ["null", "true", "false"])
        case 1: return self.random.one(of: ["0", "-0", "1", "-7", "1.0", "1e2", "1E-2", "12345678901234567890"])
        case 2: return self.string(0...5)
        case 3: return self.value(of: .whisperID)
        case 4: return self.base64(self.random.one(of: [1, 24, 32, 64]))
        case 5: return self.random.one(of: ["{}", "[]", #""""#])
        case 6:
            let count = self.random.one(of: [1, 5, 12, 13, 14, 15])
            return String(repeating: "[", count: count) + String(repeating: "]", count: count)
        case 7:
            return "[" + (0..<self.random.upTo(3)).map { _ in self.anything(depth: depth - 1) }.joined(separator: ",")
                + "]"
        default:
            let names = [#""a""#, #""nonce""#, #""whisperId""#, #""""#]
            return Self.object(
                (0..<self.random.upTo(3)).map { _ in (self.random.one(of: names), self.anything(depth: depth - 1)) })
        }
    }
}

extension FrameFuzzer {
    /// Any frame, with the verdict of the contract's own reader.
    package mutating func judged() -> JudgedFrame { self.judged(self.random.one(of: DocumentedFrame.all)) }

    /// A frame of this kind, or what has become of it.
    package mutating func judged(_ frame: DocumentedFrame) -> JudgedFrame {
        let message = self.message(of: frame)
        return JudgedFrame(
            frame: frame, message: message,
            violation: FrameVerdict.violation(of: Array(message.utf8), from: frame.side))
    }
}

extension String {
    fileprivate func replacingCharacter(at index: Index, with character: Character) -> String {
        String(self[..<index]) + String(character) + String(self[self.index(after: index)...])
    }
}
