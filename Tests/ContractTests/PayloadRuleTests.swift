import Contract
import Testing

/// Values of one type that must be taken or refused, as JSON text. Written from contract §2, not from the decoder.
private struct Judgement {
    var valid: [String]
    var invalid: [String]
}

private func judgement(of type: FieldType) -> Judgement {
    switch type {
    case .version:
        return Judgement(
            valid: ["1"],
            invalid: ["0", "2", "-1", "1.0", "1e0", "10", "18446744073709551617", #""1""#, "true", "[1]", "{}"])
    case .sessionToken:
        // A token of the wrong form is no session, which is another error; a wrong type is this one (contract §13).
        return Judgement(
            valid: [#""""#, #""x""#, characters(64), characters(65), #""\u0000""#], invalid: ["1", "true", "[]", "{}"])
    case .whisperID:
        return Judgement(
            valid: [#""WSP-7777-AAAA-2345""#, #""WSP\u002d7777-AAAA-234\u0035""#],
            invalid: [
                #""""#, #""WSP-7777-AAAA-234""#, #""WSP-7777-AAAA-23456""#, #""wsp-7777-aaaa-2345""#,
                #""WSP-7777-AAAA-2341""#,
                #""WSP-7777-AAAA-234\u0000""#, "1", "[]", "{}", "false",
            ])
    case .uuid:
        return Judgement(
            valid: [#""9b2A1f64-0f7c-1e51-0d0c-3c7d1d2b7a10""#, #""00000000-0000-0000-0000-00000000000\u0030""#],
            invalid: [
                #""""#, #""9b2a1f640f7c4e519d0c3c7d1d2b7a10""#, #""9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a1g""#, "4", "[]",
                "{}",
            ])
    case .uuidV4:
        return Judgement(
            valid: [#""0F8FAD5B-D9CB-469F-A165-70867728950E""#, #""0f8fad5b-d9cb-469f-8165-70867728950e""#],
            invalid: [
                #""0f8fad5b-d9cb-169f-a165-70867728950e""#, #""0f8fad5b-d9cb-469f-c165-70867728950e""#,
                #""0f8fad5b-d9cb-469f-7165-70867728950e""#, #""""#, "4", "{}",
            ])
    case .lowerCaseUUID:
        return Judgement(
            valid: [#""9b2a1f64-0f7c-1e51-0d0c-3c7d1d2b7a10""#],
            invalid: [
                #""9b2A1f64-0f7c-1e51-0d0c-3c7d1d2b7a10""#, #""9b2a1f640f7c4e519d0c3c7d1d2b7a10""#, #""""#, "4", "{}",
            ])
    case .guestID:
        return Judgement(
            valid: [#""gst-9b2a1f640f7c4e519d0c3c7d1d2b7a10""#],
            invalid: [
                #""gst-9B2a1f640f7c4e519d0c3c7d1d2b7a10""#, #""gst-9b2a1f640f7c4e519d0c3c7d1d2b7a1""#,
                #""GST-9b2a1f640f7c4e519d0c3c7d1d2b7a10""#, #""gst-9b2a1f640f7c4e519d0c3c7d1d2b7a1g""#, #""""#, "4",
            ])
    case .principalID:
        return Judgement(
            valid: [#""gst-9b2a1f640f7c4e519d0c3c7d1d2b7a10""#, #""WSP-7777-AAAA-2345""#],
            invalid: [#""gst-9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b""#, #""WSP-7777-AAAA-234""#, #""""#, "4", "{}"])
    case .groupID:
        return Judgement(
            valid: [#""grp-9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10""#],
            invalid: [#""9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10""#, #""GRP-9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10""#, "1"])
    case .timestamp:
        return Judgement(
            valid: ["1", "1730000000000", "253402300799999"],
            invalid: [
                "253402300800000", "9223372036854775807", "0", "-0", "-1", "1.0", "1.5", "1e3", "1E3",
                "1730000000000.0", "9223372036854775808",
                "-9223372036854775808", "-9223372036854775809", "99999999999999999999999999", #""1730000000000""#,
                "true", "[]", "{}",
            ])
    case .integer(let range):
        return Judgement(
            valid: ["\(range.lowerBound)", "\(range.upperBound)"],
            invalid: [
                "\(range.lowerBound - 1)", "\(range.upperBound + 1)", "\(range.lowerBound).0", "1e1", "-0.0",
                "9223372036854775808", "\"\(range.lowerBound)\"", "true", "[]", "{}",
            ])
    case .bool: return Judgement(valid: ["true", "false"], invalid: ["0", "1", #""true""#, "[]", "{}"])
    case .text(let range):
        return Judgement(
            valid: [
                characters(range.lowerBound), characters(range.upperBound), characters(range.upperBound, "é"),
                characters(range.upperBound, "👍"), characters(range.upperBound, #"\u00e9"#),
                characters(range.upperBound, #"\ud83d\udc4d"#),
                characters(range.upperBound, "\u{1}".unicodeScalars.map { _ in #"\u0001"# }.joined()),
            ],
            invalid: (range.lowerBound > 0 ? [characters(range.lowerBound - 1)] : []) + [
                characters(range.upperBound + 1), characters(range.upperBound + 1, "é"),
                characters(range.upperBound + 1, #"\u00e9"#), #""x\u0000""#, #""\u0000""#, "1", "true", "[]", "{}",
                // One character for a reader, two Unicode scalars for the contract.
                characters(range.upperBound, "e\u{301}"),
            ])
    case .base64(let range):
        let lower = range.lowerBound
        var invalid = [
            base64(lower - 1), base64(range.upperBound + 1), #""""#, #""AAA""#, #""AB==""#, #""AAB=""#, #""AA=A""#,
            #""A A=""#,
            #""AA-_""#, "\"" + String(base64(lower).dropFirst().dropLast()) + #"\n""#, "1", "[]", "{}",
        ]
        if base64(lower).hasSuffix("=\"") { invalid.append(base64(lower).replacing("=", with: "")) }
        return Judgement(
            valid: [base64(lower), base64(range.upperBound), escapedSlashes(lower)], invalid: invalid)
    case .digits(let range):
        func digits(_ count: Int) -> String { "\"\(String(repeating: "0", count: count))\"" }
        return Judgement(
            valid: [digits(range.lowerBound), digits(range.upperBound)],
            invalid: [
                digits(range.lowerBound - 1), digits(range.upperBound + 1), #""40291x""#, #""40291٧""#, "402917",
                #""""#,
                "{}",
            ])
    case .choice(let words):
        return Judgement(
            valid: words.map { "\"\($0)\"" }
                + words.map { "\"\\u00\(String($0.utf8.first!, radix: 16))\($0.dropFirst())\"" },
            invalid: words.map { "\"\($0.uppercased())\"" } + words.map { "\"\($0) \"" } + [
                #""""#, "1", "true", "[]", "{}",
            ])
    case .reactions: return Judgement(valid: ["{}"], invalid: ["1", "true", #""x""#, "[]"])
    case .object(let schema):
        let members = schema.fields.map { "\"\($0.name)\":" + judgement(of: $0.type).valid[0] }
        return Judgement(valid: ["{\(members.joined(separator: ","))}"], invalid: ["1", "true", #""x""#, "[]", "{}"])
    case .array(let element, let count):
        func list(_ count: Int) -> String {
            "[" + Array(repeating: judgement(of: element).valid[0], count: count).joined(separator: ",") + "]"
        }
        return Judgement(
            valid: [list(count.lowerBound), list(count.upperBound)],
            invalid: [list(count.upperBound + 1), "[null]", "[[]]", "[1.5]", "{}", "1", "true", #""x""#])
    }
}

/// Base64 full of slashes, each escaped as many encoders do.
private func escapedSlashes(_ count: Int) -> String {
    "\"" + text(Base64.encode([UInt8](repeating: 0xFF, count: count))).replacing("/", with: #"\/"#) + "\""
}

private struct FieldOfFrame: CustomTestStringConvertible, Sendable {
    var frame: FrameDefinition
    var field: Field
    var testDescription: String { "\(self.frame.type).\(self.field.name)" }

    static let all = FrameCatalogue.all.flatMap { frame in
        frame.schema.fields.map { FieldOfFrame(frame: frame, field: $0) }
    }
}

/// Whether this is one of two fields of which exactly one must be present.
private func isAlternative(_ name: String, of frame: FrameDefinition) -> Bool {
    frame.rules.contains { if case .oneOf(let a, let b) = $0 { name == a || name == b } else { false } }
}

@Suite struct PayloadRuleTests {
    @Test(arguments: FieldOfFrame.all)
    private func aFieldTakesWhatItsTypeSaysAndNothingElse(subject: FieldOfFrame) {
        let name = subject.field.name
        let draft = Self.draft(with: subject)
        let judgement = judgement(of: subject.field.type)
        for value in judgement.valid where !breaksAnotherRule(name, value, of: subject.frame) {
            #expect(blamed(draft.with(name, value).message) == nil, "\(value.prefix(80))")
            #expect(SlowValidator.isValid(draft.with(name, value).message), "\(value.prefix(80))")
        }
        for value in judgement.invalid {
            #expect(blamed(draft.with(name, value).message) == name, "\(value.prefix(80))")
            #expect(!SlowValidator.isValid(draft.with(name, value).message), "\(value.prefix(80))")
        }
    }

    @Test(arguments: FieldOfFrame.all)
    private func presenceIsKept(subject: FieldOfFrame) {
        let name = subject.field.name
        // Its own test says so of alternatives.
        guard !isAlternative(name, of: subject.frame) else { return }
        let draft = Draft(subject.frame)
        let isRequired = if case .required = subject.field.presence { true } else { false }
        #expect(blamed(draft.without(name).message) == (isRequired ? name : nil))
        #expect(blamed(draft.with(name, "null").message) == (isRequired ? name : nil))
        #expect(blamed(draft.with(name, "nulL").message) != nil)
        // Names are exact, byte for byte; another name is another field.
        let value = draft.value(name) ?? "null"
        for other in ["\"\(name.uppercased())\"", "\"\(name) \"", "\"\(name)\\u0000\""] {
            #expect(blamed(draft.without(name).adding(other, value).message) == (isRequired ? name : nil))
        }
    }

    @Test(arguments: FieldOfFrame.all)
    private func aFieldGivenTwiceIsRefused(subject: FieldOfFrame) {
        let name = subject.field.name
        let draft = Self.draft(with: subject)
        let candidates = judgement(of: subject.field.type).valid.filter {
            !breaksAnotherRule(name, $0, of: subject.frame)
        }
        guard let value = draft.value(name) ?? candidates.first else { return }
        let once = draft.with(name, value)
        #expect(blamed(once.adding("\"\(name)\"", value).message) == name)
        // Also when the second is spelled with an escape, or null.
        let escaped = "\"\\u00\(String(name.utf8.first!, radix: 16))\(name.dropFirst())\""
        #expect(blamed(once.adding(escaped, value).message) == name)
        if case .required = subject.field.presence {
        } else {
            #expect(blamed(once.adding("\"\(name)\"", "null").message) == name)
        }
        // An escaped name is the same name.
        #expect(blamed(draft.without(name).adding(escaped, value).message) == nil)
    }

    /// Without the field that must not stand beside this one.
    private static func draft(with subject: FieldOfFrame) -> Draft {
        var draft = Draft(subject.frame)
        for case .oneOf(let a, let b) in subject.frame.rules {
            if subject.field.name == a { draft = draft.without(b) }
            if subject.field.name == b { draft = draft.without(a) }
        }
        return draft
    }

    @Test func oneOfTwoAlternativesStandsThere() throws {
        let draft = Draft(RoomJoin.definition)
        let room = #""0b6d8f0e-3c1a-4f5e-9a77-2d1c0b9a8f7e""#
        #expect(blamed(draft.message) == nil && blamed(draft.without("code").with("roomId", room).message) == nil)
        #expect(blamed(draft.without("code").message) == "code")
        #expect(blamed(draft.with("code", "null").message) == "code")
        #expect(blamed(draft.with("roomId", room).message) == "code")
        #expect(!SlowValidator.isValid(draft.with("roomId", room).message))
        #expect(!SlowValidator.isValid(draft.without("code").message))
    }

    @Test(arguments: FrameCatalogue.all.map(\.type))
    func unknownFieldsAreIgnored(type: String) throws {
        let definition = try #require(FrameCatalogue.definition(of: type))
        let draft = Draft(definition).adding(#""extra""#, #"{"from":1,"x":[null,{}]}"#).adding(#""extra""#, "2").adding(
            #""""#, "null")
        let plain = try read(Draft(definition).message).payload
        #expect(try read(draft.message).payload.json() == plain.json())
    }

    @Test(arguments: FrameCatalogue.all.map(\.type))
    func onlyPrivilegedFramesCarryASession(type: String) throws {
        let definition = try #require(FrameCatalogue.definition(of: type))
        #expect((definition.sessionField != nil) == [.session, .either].contains(definition.principal))
        #expect((definition.guestField != nil) == [.guest, .either].contains(definition.principal))
        let versions = ["protocolVersion", "cryptoVersion"].map { definition.schema.index(of: $0) != nil }
        #expect(versions == [type != "ping", type != "ping"])
    }

    /// P of contract §14.2.
    @Test(arguments: [
        ("", nil), (#","sessionToken":"s""#, nil), (#","guestToken":"g""#, nil),
        (#","sessionToken":"s","guestToken":null"#, nil), (#","sessionToken":null,"guestToken":"g""#, nil),
        (#","sessionToken":"s","guestToken":"g""#, "guestToken"),
        (#","sessionToken":"","guestToken":"""#, "guestToken"),
    ])
    func whoeverShowsBothTokensIsRefused(tokens: String, blamed: String?) throws {
        let definition = FrameDefinition(
            "of_either", about: "", route: .gateway, principal: .either,
            fields: CommonFields.versions + [CommonFields.sessionToken, CommonFields.guestToken], samples: [])
        let json = #"{"protocolVersion":1,"cryptoVersion":1\#(tokens)}"#
        let payload = try FrameDecoder.payload(bare: Array(json.utf8), schema: definition.schema)
        #expect(definition.rule(payload)?.field == blamed)
    }

    // MARK: Rules between fields

    @Test(arguments: [
        ("text", 12_288, true), ("text", 12_289, false), ("image", 12_289, true), ("voice", 262_144, true),
        ("file", 262_145, false),
    ])
    func ciphertextIsBoundedByTheKindOfMessage(kind: String, bytes: Int, isValid: Bool) {
        let draft = Draft(SendMessage.definition).with("msgType", "\"\(kind)\"").with("ciphertext", base64(bytes))
        #expect(blamed(draft.message) == (isValid ? nil : "ciphertext"))
        #expect(SlowValidator.isValid(draft.message) == isValid)
    }

    @Test func nobodyWritesToHimself() {
        let draft = Draft(SendMessage.definition).with("to", #""WSP-JBPU-D452-TLT4""#)
        #expect(blamed(draft.message) == "to")
    }

    @Test(arguments: ["p1-0", "p1-2a", "p1-7fffffffffffffff"])
    func ownCursorsAreTaken(cursor: String) throws {
        let frame = try read(Draft(FetchPending.definition).with("cursor", "\"\(cursor)\"").message)
        #expect(FetchPending(frame.payload).cursor?.text == cursor)
    }

    @Test(arguments: ["2a", "p2-2a", "p1-", "p1--1", "p1-+1", "p1-8000000000000000", "p1-0x1", " p1-1"])
    func foreignCursorsAreRefused(cursor: String) {
        #expect(blamed(Draft(FetchPending.definition).with("cursor", "\"\(cursor)\"").message) == "cursor")
    }

    @Test(arguments: ["g0-\(cursorPlace)0000000000000000", "g2-\(cursorPlace)7fffffffffffffff"])
    func ownCursorsOfGroupsAreTaken(cursor: String) throws {
        let frame = try read(Draft(GroupList.definition).with("cursor", "\"\(cursor)\"").message)
        #expect(try GroupList(frame.payload).cursor?.text == cursor)
    }

    @Test(arguments: [
        "p1-2a", "g3-\(cursorPlace)0000000000000000", "g1-\(cursorPlace)8000000000000000",
        "g1-\(cursorPlace)000000000000000A", "g1-\(cursorPlace)000000000000000",
        "g1-+\(cursorPlace.dropFirst())0000000000000000", " g1-\(cursorPlace)0000000000000000",
    ])
    func foreignCursorsOfGroupsAreRefused(cursor: String) {
        #expect(blamed(Draft(GroupList.definition).with("cursor", "\"\(cursor)\"").message) == "cursor")
    }

    @Test func aGroupCursorIsTakenBackExactlyAsGivenOut() {
        for (part, since) in [(0, 0), (1, 42), (2, Int64.max)] {
            let cursor = GroupCursor(
                part: part, joinedAt: Timestamp(milliseconds: 1_730_000_000_123), group: .random(), since: since)
            #expect(GroupCursor(cursor.text) == cursor && Limits.cursorCharacters.contains(cursor.text.count))
        }
    }

    // MARK: Reactions and attachment

    @Test(arguments: [
        ("{}", true), (#"{"👍":[]}"#, true), (#"{"👍":["WSP-AAAA-AAAA-AAAA","WSP-AAAA-AAAA-AAAA"]}"#, true),
        (#"{"\ud83d\udc4d":[]}"#, true),
        ("[]", false), (#"{"":[]}"#, false), (#"{"👍":null}"#, false), (#"{"👍":"WSP-AAAA-AAAA-AAAA"}"#, false),
        (#"{"👍":["x"]}"#, false),
        (#"{"👍":[null]}"#, false), (#"{"a\u0000":[]}"#, false), (#"{"👍":{}}"#, false), (#"{"👍":[],"👍":[]}"#, false),
        (#"{"a":[],"\u0061":[]}"#, false),
    ])
    func reactionsAreListsOfIDs(reactions: String, isValid: Bool) {
        let draft = Draft(SendMessage.definition).with("reactions", reactions)
        #expect(blamed(draft.message) == (isValid ? nil : "reactions"))
        #expect(SlowValidator.isValid(draft.message) == isValid)
    }

    @Test func reactionsAreBounded() {
        func isValid(keys: Int, ids: Int, characters: Int) -> Bool {
            let list = Array(repeating: #""WSP-AAAA-AAAA-AAAA""#, count: ids).joined(separator: ",")
            let members = (0..<keys).map { key in
                let name = String("\(key)".reversed()).padding(to: characters)
                return "\"\(name)\":[\(list)]"
            }
            let draft = Draft(SendMessage.definition).with("reactions", "{\(members.joined(separator: ","))}")
            #expect(SlowValidator.isValid(draft.message) == (blamed(draft.message) == nil))
            return blamed(draft.message) == nil
        }
        #expect(isValid(keys: Limits.reactionsMax, ids: 1, characters: 2))
        #expect(!isValid(keys: Limits.reactionsMax + 1, ids: 1, characters: 2))
        #expect(isValid(keys: 1, ids: Limits.reactionIdentitiesMax, characters: 1))
        #expect(!isValid(keys: 1, ids: Limits.reactionIdentitiesMax + 1, characters: 1))
        #expect(isValid(keys: 1, ids: 0, characters: 32))
        #expect(!isValid(keys: 1, ids: 0, characters: 33))
    }

    @Test(arguments: [
        ("objectKey", #""""#), ("objectKey", characters(129)), ("objectKey", "1"), ("objectKey", "null"),
        ("contentType", characters(101)),
        ("contentType", #""""#), ("ciphertextSize", "0"), ("ciphertextSize", "50000001"), ("ciphertextSize", "1.0"),
        ("ciphertextSize", #""1""#), ("fileNonce", base64(23)), ("fileNonce", base64(25)), ("fileKeyBox", "null"),
        ("fileKeyBox", "[]"),
        ("fileKeyBox", "{}"), ("fileKeyBox", #"{"nonce":\#(base64(24))}"#),
        ("fileKeyBox", #"{"nonce":\#(base64(24)),"ciphertext":null}"#),
        ("fileKeyBox", #"{"nonce":\#(base64(25)),"ciphertext":\#(base64(48))}"#),
        ("fileKeyBox", #"{"nonce":\#(base64(24)),"ciphertext":\#(base64(257))}"#),
        ("fileKeyBox", #"{"nonce":\#(base64(24)),"nonce":\#(base64(24)),"ciphertext":\#(base64(48))}"#),
    ])
    func eachFieldOfAnAttachmentIsChecked(field: String, value: String) {
        let message = Draft(SendMessage.definition, sample: 1).with(
            "attachment", attachment(replacing: field, by: value)
        ).message
        #expect(blamed(message) == "attachment")
        #expect(!SlowValidator.isValid(message))
    }

    @Test(arguments: ["objectKey", "contentType", "ciphertextSize", "fileNonce", "fileKeyBox"])
    func anAttachmentNeedsAllItsFieldsOnce(field: String) {
        let missing = attachment(replacing: field, by: nil)
        #expect(blamed(Draft(SendMessage.definition).with("attachment", missing).message) == "attachment")
        let whole = attachment()
        let twice = whole.dropLast() + "," + member(field) + "}"
        #expect(blamed(Draft(SendMessage.definition).with("attachment", String(twice)).message) == "attachment")
        #expect(blamed(Draft(SendMessage.definition).with("attachment", whole).message) == nil)
    }
}

private let attachmentMembers: [(String, String)] = [
    ("objectKey", #""att/2026/01/x.bin""#), ("contentType", #""image/jpeg""#), ("ciphertextSize", "50000000"),
    ("fileNonce", base64(24)), ("fileKeyBox", #"{"nonce":\#(base64(24)),"ciphertext":\#(base64(256))}"#),
]

private func member(_ name: String) -> String {
    "\"\(name)\":" + attachmentMembers.first { $0.0 == name }!.1
}

private func attachment(replacing field: String? = nil, by value: String? = nil) -> String {
    let members = attachmentMembers.compactMap { name, text in
        name == field ? value.map { "\"\(name)\":\($0)" } : "\"\(name)\":\(text)"
    }
    return "{\(members.joined(separator: ","))}"
}

extension String {
    fileprivate func padding(to count: Int) -> String {
        self + String(repeating: "x", count: Swift.max(0, count - self.count))
    }
}

/// A membership in a cursor of groups.
private let cursorPlace = String(repeating: "0", count: 42) + "1"

/// Values that their type takes and a rule between fields does not.
private func breaksAnotherRule(_ field: String, _ value: String, of frame: FrameDefinition) -> Bool {
    switch (frame.type, field) {
    case ("send_message", "ciphertext"), ("group_send_message", "ciphertext"): value.count > 20_000
    case ("fetch_pending", "cursor"), ("group_list", "cursor"): true
    // Its sample goes to all.
    case ("live_packet", "to"): true
    // Beside the other token, which the sample has.
    case (_, CommonFields.guestToken.name):
        frame.principal == .either && frame.samples[0].contains(CommonFields.sessionToken.name)
    case (_, CommonFields.sessionToken.name):
        frame.principal == .either && frame.samples[0].contains(CommonFields.guestToken.name)
    default: false
    }
}
