import Contract
package import ContractSchema

/// Frames that must be accepted or refused, for clients and servers in any language (`docs/vectors/frames.json`).
package enum FrameVectors {
    package static var document: Document {
        [
            "about":
                "frame is the text of one WebSocket message from a client. expect is VALID (of good form: what follows decides) or the error code; field is the one to blame.",
            "forms": .array(self.forms),
            "aboutChecks":
                "What follows a valid form, with the session's identity, its key (hex), and the server's time. Steps 3, 5, 6 and 8 of the order of checks.",
            "checks": .array(self.checks),
        ]
    }

    // MARK: Form

    private static var forms: [Document] {
        var forms: [Document] = []
        var seen: Set<String> = []
        for frame in FrameCatalogue.all {
            for number in frame.samples.indices {
                forms.append(self.form("\(frame.type), sample \(number + 1)", Draft(frame, sample: number), field: nil))
            }
            for field in frame.schema.fields {
                // Once for each kind of field: many frames share them.
                guard seen.insert("\(field.name) \(field.presence) \(JSONSchema.schema(of: field.type).line)").inserted
                else {
                    continue
                }
                forms += self.flaws(of: field, in: frame)
            }
            forms += self.brokenRules(of: frame)
        }
        return forms + self.envelopes
    }

    private static func form(_ name: String, _ draft: Draft, field: String?) -> Document {
        self.form(name, draft.message, field: field)
    }

    private static func form(_ name: String, _ message: String, field: String?) -> Document {
        let violation = FrameVerdict.violation(of: Array(message.utf8), from: .client)
        precondition(violation?.field == field, "\(name): \(violation.map { "\($0)" } ?? "accepted")")
        return Document.members([
            ("name", .string(name)), ("frame", .string(message)),
            ("expect", .string(field == nil ? "VALID" : ErrorCode.invalidPayload.rawValue)),
            ("field", field.map { .string($0) }),
        ])
    }

    private static func flaws(of field: Field, in frame: FrameDefinition) -> [Document] {
        let draft = Draft(frame, sample: frame.samples.indices.first { Draft(frame, sample: $0).has(field.name) } ?? 0)
        var flaws: [Document] = []
        func add(_ what: String, _ draft: Draft, isValid: Bool = false) {
            flaws.append(self.form("\(frame.type).\(field.name) \(what)", draft, field: isValid ? nil : field.name))
        }
        let isRequired = field.presence == .required
        // If a rule asks for one of two fields, neither is missing by itself (`brokenRules`).
        let isAlternative = frame.rules.contains { rule in
            if case .oneOf(let a, let b) = rule { [a, b].contains(field.name) } else { false }
        }
        if !isAlternative {
            add("is absent", draft.without(field.name), isValid: !isRequired)
            add("is null", draft.with(field.name, "null"), isValid: !isRequired)
        }
        if let value = draft.value(field.name) { add("is given twice", draft.adding(field.name, value)) }
        for value in self.wrong(field.type) { add("is \(self.shown(value))", draft.with(field.name, value)) }
        for value in self.right(field.type) {
            add("is \(self.shown(value))", draft.with(field.name, value), isValid: true)
        }
        return flaws
    }

    private static func shown(_ value: String) -> String {
        value.count <= 48 ? value : "\(value.prefix(20))… (\(value.count) characters)"
    }

    private static func wrong(_ type: FieldType) -> [String] {
        switch type {
        case .version: ["0", "2", "1.0", "1e0", #""1""#, "true"]
        case .sessionToken: ["7", "false", "[]", "{}"]
        case .whisperID:
            [
                #""WSP-AAAA-AAAA-AAA""#, #""WSP-AAAA-AAAA-AAAAA""#, #""wsp-aaaa-aaaa-aaaa""#, #""WSP-AAAA-AAAA-AAA1""#,
                #""WSP-AAAA-AAAA-AAAA\n""#, "1", "{}",
            ]
        case .uuid:
            [
                #""9b2a1f640f7c4e519d0c3c7d1d2b7a10""#, #""9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a1g""#,
                #""{9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10}""#, "1",
            ]
        case .uuidV4:
            [#""0f8fad5b-d9cb-169f-a165-70867728950e""#, #""0f8fad5b-d9cb-469f-c165-70867728950e""#, #""""#]
        case .lowerCaseUUID:
            [#""9B2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10""#, #""9b2a1f640f7c4e519d0c3c7d1d2b7a10""#, "1"]
        case .guestID:
            [
                #""gst-9B2a1f640f7c4e519d0c3c7d1d2b7a10""#, #""gst-9b2a1f640f7c4e519d0c3c7d1d2b7a1""#,
                #""9b2a1f640f7c4e519d0c3c7d1d2b7a10""#, "1",
            ]
        case .principalID: [#""gst-9B2a1f640f7c4e519d0c3c7d1d2b7a10""#, #""WSP-AAAA-AAAA-AAA1""#, "1"]
        case .groupID:
            [#""9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10""#, #""GRP-9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10""#, #""grp-""#]
        case .timestamp:
            ["0", "-1", "253402300800000", "1730000000000.0", "1.73e12", "9223372036854775808", #""1730000000000""#]
        case .integer(let range):
            ["\(range.lowerBound - 1)", "\(range.upperBound)0", "\(range.lowerBound).0", "\"\(range.lowerBound)\""]
        case .base64(let range):
            [
                self.base64(range.lowerBound - 1), range.count == 1 ? self.base64(range.upperBound + 1) : #""""#,
                #""AAA""#,
                #""AB==""#, #""AAB=""#, #""A A=""#, #""AA-_""#, #""AAAA\n""#, "1",
            ]
        case .bool: ["0", "1", #""true""#]
        case .text(let range):
            [self.characters(range.upperBound + 1), self.characters(range.upperBound, "e\u{301}"), #""x\u0000""#, "1"]
                + (range.lowerBound > 0 ? [#""""#] : [])
        case .digits(let range):
            [
                "\"\(String(repeating: "7", count: range.lowerBound - 1))\"",
                "\"\(String(repeating: "7", count: range.upperBound + 1))\"", #""40291x""#, "402917",
            ]
        case .choice(let words): ["\"\(words[0].uppercased())\"", "\"\(words[0]) \"", #""""#, "1"]
        case .object: ["{}", "[]", #""x""#]
        case .array: ["{}", "[null]", "[1]"]
        case .reactions:
            ["[]", #"{"":[]}"#, #"{"👍":null}"#, #"{"👍":["x"]}"#, #"{"👍":[],"👍":[]}"#, "{\(self.characters(33)):[]}"]
        }
    }

    private static func right(_ type: FieldType) -> [String] {
        switch type {
        case .whisperID: [#""WSP-77AA-AAAA-2345""#]
        case .uuid: [#""9B2A1f64-0f7c-1e51-0d0c-3c7d1d2b7a10""#]
        case .timestamp: ["1", "253402300799999"]
        // Its rule between fields decides: a cursor is no free text.
        case .text(let range) where range != Limits.cursorCharacters:
            [self.characters(range.upperBound, "👍"), self.characters(range.lowerBound)]
        case .reactions: ["{}", #"{"👍":[]}"#]
        case .choice(let words): words.dropFirst().map { "\"\($0)\"" }
        default: []
        }
    }

    private static func brokenRules(of frame: FrameDefinition) -> [Document] {
        frame.rules.map { rule in
            let draft = Draft(frame, sample: 0)
            switch rule {
            case .differ(let a, let b):
                return self.form("\(frame.type).\(a) is \(b)", draft.with(a, draft.value(b)!), field: a)
            case .bounded(let name, let bytes, let kind, let word):
                let long = draft.with(kind, "\"\(word)\"").with(name, self.base64(bytes + 1))
                return self.form("\(frame.type).\(name) is too long for \(word)", long, field: name)
            case .notBoth(let a, let b):
                let both = draft.with(a, #""a""#).with(b, #""b""#)
                return self.form("\(frame.type).\(b) stands beside \(a)", both, field: b)
            case .oneOf(let a, let b):
                return self.form("\(frame.type) has neither \(a) nor \(b)", draft.without(a).without(b), field: a)
            case .among(let name, let numbers):
                let other = numbers.min()! + 1
                return self.form("\(frame.type).\(name) is \(other)", draft.with(name, "\(other)"), field: name)
            case .absent(let name, let kind, let word):
                let both = draft.with(kind, "\"\(word)\"").with(name, #""WSP-77AA-AAAA-2345""#)
                return self.form("\(frame.type).\(name) stands in a \(word)", both, field: name)
            case .notZero(let name, let kind, let word):
                let none = draft.with(kind, "\"\(word)\"").with(name, "0")
                return self.form("\(frame.type).\(name) is 0 in a \(word)", none, field: name)
            case .cursor(let name):
                return self.form("\(frame.type).\(name) is none of ours", draft.with(name, #""p1-007""#), field: name)
            case .groupCursor(let name):
                let foreign = "\"g3-\(String(repeating: "0", count: 59))\""
                return self.form("\(frame.type).\(name) is none of ours", draft.with(name, foreign), field: name)
            }
        }
    }

    private static var envelopes: [Document] {
        let ping = #""type":"ping","payload":{}"#
        let deep = String(repeating: "[", count: 15) + String(repeating: "]", count: 15)
        let cases: [(String, String, String?)] = [
            ("white space is free", " {\n\"payload\" : { } ,\t\"type\" : \"ping\" } ", nil),
            ("unknown members are ignored", #"{"x":[{}],\#(ping)}"#, nil),
            ("a null requestId is none", #"{"requestId":null,\#(ping)}"#, nil),
            ("64 printable characters", #"{"requestId":"\#(String(repeating: "~", count: 64))",\#(ping)}"#, nil),
            ("unknown fields are ignored", #"{"type":"ping","payload":{"x":1,"x":2}}"#, nil),
            ("escapes are read", #"{"type":"\u0070ing","payload":{}}"#, nil),
            ("nested 16 deep", #"{"type":"ping","payload":{"x":\#(deep.dropFirst().dropLast())}}"#, nil),
            ("nested 17 deep", #"{"type":"ping","payload":{"x":\#(deep)}}"#, ""),
            ("65 characters", #"{"requestId":"\#(String(repeating: "~", count: 65))",\#(ping)}"#, "requestId"),
            ("empty requestId", #"{"requestId":"",\#(ping)}"#, "requestId"),
            ("requestId not ASCII", #"{"requestId":"é",\#(ping)}"#, "requestId"),
            ("requestId is a number", #"{"requestId":1,\#(ping)}"#, "requestId"),
            ("no type", #"{"payload":{}}"#, "type"), ("two types", #"{"type":"ping",\#(ping)}"#, "type"),
            ("no payload", #"{"type":"ping"}"#, "payload"),
            ("payload is null", #"{"type":"ping","payload":null}"#, "payload"),
            ("payload is a list", #"{"type":"ping","payload":[]}"#, "payload"),
            ("unknown type", #"{"type":"pong","payload":{}}"#, "type"),
            ("type of another case", #"{"type":"Ping","payload":{}}"#, "type"),
            ("empty", "", ""), ("no object", "[]", ""), ("two objects", "{\(ping)}{}", ""),
            ("a trailing comma", "{\(ping),}", ""),
            ("a comment", "{\(ping)}//", ""), ("a leading zero", #"{"type":"ping","payload":{"x":01}}"#, ""),
            ("not a number", #"{"type":"ping","payload":{"x":NaN}}"#, ""),
            ("half a surrogate pair", #"{"type":"ping","payload":{"x":"\ud83d"}}"#, ""),
            ("a raw line feed in a string", "{\"type\":\"ping\",\"payload\":{\"x\":\"\n\"}}", ""),
        ]
        return cases.map { self.form("envelope: \($0.0)", $0.1, field: $0.2) }
    }

    // MARK: What follows

    private static var checks: [Document] {
        let genuine = Draft(SendMessage.definition, sample: 0)
        let time: Int64 = 1_730_000_000_000
        func check(_ name: String, _ draft: Draft, at serverTime: Int64 = time, _ code: ErrorCode?) -> Document {
            [
                "name": .string(name), "session": "WSP-JBPU-D452-TLT4",
                "signPublicKey": "bd930cbbf856bb76f2c25c64062a2944cc6065ba54b9af7242d2bfbde5d7c95b",
                "serverTime": .integer(serverTime), "frame": .string(draft.message),
                "expect": .string(code?.rawValue ?? "VALID"),
            ]
        }
        let skew = Limits.timestampSkewMilliseconds
        return [
            check("genuine", genuine, nil),
            check(
                "another UUID spelling is another text",
                genuine.with("messageId", #""9B2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10""#), .authFailed),
            check(
                "what the signature does not cover may change", genuine.without("replyTo").with("reactions", "{}"), nil),
            check("no session", genuine.without("sessionToken"), .notRegistered),
            check("null session", genuine.with("sessionToken", "null"), .notRegistered),
            check("empty session", genuine.with("sessionToken", #""""#), .notRegistered),
            check("a token of 31 characters", genuine.with("sessionToken", self.characters(31)), .notRegistered),
            check("a token of 65 characters", genuine.with("sessionToken", self.characters(65)), .notRegistered),
            check("from somebody else", genuine.with("from", #""WSP-F4YH-3J4Z-7RP7""#), .forbidden),
            check("to somebody else", genuine.with("to", #""WSP-F4YH-3J4Z-7RP7""#), .authFailed),
            check("another time", genuine.with("timestamp", "\(time + 1)"), .authFailed),
            check("another nonce", genuine.with("nonce", self.base64(24)), .authFailed),
            check(
                "another ciphertext", genuine.with("ciphertext", #""Y2lwaGVydGV4dB==""#.replacing("dB", with: "dQ")),
                .authFailed),
            check("another signature", genuine.with("sig", self.base64(64)), .authFailed),
            check(
                "no session comes before from", genuine.without("sessionToken").with("from", #""WSP-F4YH-3J4Z-7RP7""#),
                .notRegistered),
            check(
                "from comes before signature",
                genuine.with("from", #""WSP-F4YH-3J4Z-7RP7""#).with("sig", self.base64(64)), .forbidden),
            check(
                "signature comes before time", genuine.with("sig", self.base64(64)), at: time + skew + 1, .authFailed),
            check("just early enough", genuine, at: time - skew, nil),
            check("just late enough", genuine, at: time + skew, nil),
            check("too early", genuine, at: time - skew - 1, .invalidTimestamp),
            check("too late", genuine, at: time + skew + 1, .invalidTimestamp),
        ]
    }

    private static func base64(_ count: Int) -> String {
        "\"" + String(decoding: Base64.encode([UInt8](repeating: 0x5A, count: count)), as: UTF8.self) + "\""
    }

    private static func characters(_ count: Int, _ character: String = "x") -> String {
        "\"" + String(repeating: character, count: count) + "\""
    }
}

/// A frame under construction: a sample whose members can be exchanged for other JSON text.
private struct Draft {
    let type: String
    var members: [(name: String, value: String)]

    init(_ frame: FrameDefinition, sample: Int) {
        self.type = frame.type
        self.members = Document(sample: frame.samples[sample]).pairs.map { ($0.0, $0.1?.compact ?? "null") }
    }

    func has(_ name: String) -> Bool { self.value(name) ?? "null" != "null" }
    func value(_ name: String) -> String? { self.members.first { $0.name == name }?.value }

    func with(_ name: String, _ value: String) -> Draft {
        var draft = self
        if let index = self.members.firstIndex(where: { $0.name == name }) {
            draft.members[index].value = value
        } else {
            draft.members.append((name, value))
        }
        return draft
    }

    func without(_ name: String) -> Draft {
        var draft = self
        draft.members.removeAll { $0.name == name }
        return draft
    }

    func adding(_ name: String, _ value: String) -> Draft {
        var draft = self
        draft.members.append((name, value))
        return draft
    }

    var message: String {
        let members = self.members.map { "\"\($0.name)\":\($0.value)" }.joined(separator: ",")
        return #"{"type":"\#(self.type)","payload":{\#(members)}}"#
    }
}
