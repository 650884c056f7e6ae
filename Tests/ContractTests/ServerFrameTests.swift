import Contract
import Testing

/// Frames of the server, read and written by the one type that each of them has.
@Suite struct ServerFrameTests {
    private static let types = ServerFrameCatalogue.all.map(\.type)

    private func frame(_ type: String, _ payload: String) throws -> (any ServerFrame)? {
        try ServerMessage(Array(#"{"type":"\#(type)","requestId":"7","payload":\#(payload)}"#.utf8)).frame
    }

    /// A frame that is read is written again: reader, writer and schema agree.
    @Test(arguments: Self.types)
    func samplesComeBackWhole(type: String) throws {
        let definition = try #require(ServerFrameCatalogue.frame(of: type)).definition
        for sample in definition.samples {
            let frame = try #require(try self.frame(type, sample))
            #expect(Swift.type(of: frame).definition.type == type)
            #expect(SlowJSON.parse(text(frame.json)).map(sorted) == SlowJSON.parse(sample).map(sorted))
            // The strict schema, which holds for servers.
            _ = try FrameDecoder.payload(bare: frame.json, schema: definition.schema)
        }
    }

    /// Each required field must be there, and be of its type.
    @Test(arguments: Self.types)
    func aPayloadThatLacksAFieldIsNoFrame(type: String) throws {
        let definition = try #require(ServerFrameCatalogue.frame(of: type)).definition
        for field in definition.schema.fields where field.presence == .required {
            guard case .object(let members)? = SlowJSON.parse(definition.samples[0]) else { return }
            for value in [nil, "null", "[[]]"] {
                let changed = members.compactMap { member in
                    (member.name == field.name ? value : written(member.value)).map { #""\#(member.name)":\#($0)"# }
                }
                #expect(throws: FrameDecoder.Failure.self, "\(type) with \(field.name): \(value ?? "nothing")") {
                    try self.frame(type, "{\(changed.joined(separator: ","))}")
                }
            }
        }
    }

    /// Clients reckon with these numbers, and a server is not trusted (contract §13b).
    @Test(arguments: Self.types)
    func everyNumberHasABound(type: String) throws {
        let definition = try #require(ServerFrameCatalogue.frame(of: type)).definition
        for (path, range) in Self.numbers(of: .object(definition.schema)) {
            #expect(range.lowerBound >= 0 && range.upperBound <= Limits.numberMax, "\(type): \(path)")
        }
        for sample in definition.samples {
            guard case .object(let members)? = SlowJSON.parse(sample) else { return }
            for field in definition.schema.fields {
                guard case .some(let range) = Self.numbers(of: field.type)[""],
                    members.contains(where: { $0.name == field.name })
                else { continue }
                let bounds = [range.lowerBound, range.upperBound]
                for value in bounds + [range.lowerBound - 1, range.upperBound + 1, .min, .max] {
                    let changed = members.map { member in
                        #""\#(member.name)":\#(member.name == field.name ? "\(value)" : written(member.value))"#
                    }
                    let text = "{\(changed.joined(separator: ","))}"
                    guard !bounds.contains(value) else {
                        _ = try self.frame(type, text)
                        continue
                    }
                    #expect(throws: FrameDecoder.Failure.self, "\(type): \(field.name) is \(value)") {
                        try self.frame(type, text)
                    }
                }
            }
        }
    }

    /// Every number in a value of this type, by its path.
    private static func numbers(of type: FieldType) -> [String: ClosedRange<Int64>] {
        switch type {
        case .timestamp: ["": Limits.timestamps]
        case .integer(let range): ["": range]
        case .array(let element, _):
            Dictionary(uniqueKeysWithValues: Self.numbers(of: element).map { ("[]" + $0, $1) })
        case .object(let schema):
            schema.fields.reduce(into: [:]) { numbers, field in
                for (path, range) in Self.numbers(of: field.type) { numbers[field.name + "." + path] = range }
            }
        default: [:]
        }
    }

    @Test func theAnsweredRequestIsNamed() throws {
        let message = try ServerMessage(
            Array(#"{"type":"logout_ack","requestId":"7","payload":{"success":true}}"#.utf8))
        #expect(message.requestID == "7")
        #expect(message.type == LogoutAck.type)
    }

    @Test func aFrameOfANewerServerIsNotRead() throws {
        #expect(try self.frame("moon_phase", #"{"phase":"full"}"#) == nil)
        let pong = try #require(try self.frame("pong", #"{"serverTime":5,"zone":"UTC"}"#) as? Pong)
        #expect(pong.serverTime == Timestamp(milliseconds: 5))
    }

    @Test func wordsOfANewerServerAreRead() throws {
        let error = try #require(try self.frame("error", #"{"code":"TEAPOT","message":"short"}"#) as? ErrorFrame)
        #expect(error.code == "TEAPOT" && error.errorCode == nil)
        let message = MessageReceived.definition.samples[0].replacing(#""text""#, with: #""poem""#)
        let received = try #require(try self.frame("message_received", message) as? MessageReceived)
        #expect(received.envelope.msgType == "poem")
    }

    @Test func wordsThatMakeADifferenceAreNotGuessed() {
        #expect(throws: FrameDecoder.Failure.self) {
            try self.frame("presence_update", #"{"whisperId":"WSP-AAAA-AAAA-AAAA","status":"busy"}"#)
        }
        #expect(throws: FrameDecoder.Failure.self) {
            try self.frame("presence_update", #"{"whisperId":"WSP-AAAA-AAAA-AAAA","status":"offline"}"#)
        }
    }

    @Test(arguments: ["", "{", "[]", "null", #"{"type":"pong"}"#, #"{"payload":{}}"#, #"{"type":1,"payload":{}}"#])
    func whatIsNoFrameIsRefused(text: String) {
        #expect(throws: FrameDecoder.Failure.self) { try ServerMessage(Array(text.utf8)) }
    }

    @Test func textThatIsNotUTF8IsRefused() {
        let bytes =
            Array(#"{"type":"error","payload":{"code":"NOT_FOUND","message":""#.utf8) + [0xC3] + Array(#""}}"#.utf8)
        #expect(throws: FrameDecoder.Failure.self) { try ServerMessage(bytes) }
    }

    /// Mail goes from the sender's frame to the recipient as bytes.
    @Test func mailIsReadFromWhatTheGatewayRelays() throws {
        let message = try read(Draft(SendMessage.definition).message)
        let relayed = try SendMessage(message.payload).relayed()
        let received = try MessageReceived(payload: relayed)
        #expect(received.json == relayed)
        let whole = MessageReceived.definition.head + relayed + ServerFrameDefinition.tail
        #expect(try ServerMessage(whole).frame is MessageReceived)
        let page = PendingMessages.json(messages: [relayed, relayed], nextCursor: "p1-2a")
        let pending = try PendingMessages(payload: page)
        #expect(pending.messages.map(\.json) == [relayed, relayed] && pending.nextCursor == "p1-2a")
        #expect(pending.json == page)
    }

    @Test func textsWithEscapesComeBack() throws {
        let urls = ["turn:a\"\\\n", "turns:ü"]
        let frame = TurnCredentialsFrame(urls: urls, username: "\u{1}\"", credential: [UInt8](0..<20), ttl: 1)
        let back = try TurnCredentialsFrame(payload: frame.json)
        #expect(back.urls == urls && back.username == "\u{1}\"" && back.credential == [UInt8](0..<20))
    }

    @Test func aRequestIDIsEscapedInTheHead() throws {
        let head = ServerFrameDefinition.head(type: "pong", requestID: #"a"\b"#)
        let message = try ServerMessage(head + Array(#"{"serverTime":5}"#.utf8) + ServerFrameDefinition.tail)
        #expect(message.requestID == #"a"\b"#)
    }
}

/// One text for each value, whatever the order of its members.
/// The value with its members in the order of their names.
func sorted(_ json: SlowJSON) -> String {
    switch json {
    case .object(let members):
        "{" + members.map { "\($0.name):\(sorted($0.value))" }.sorted().joined(separator: ",") + "}"
    case .array(let elements): "[" + elements.map(sorted).joined(separator: ",") + "]"
    case .string(let text): "\"\(text)\""
    case .number(let text): text
    case .bool(let value): "\(value)"
    case .null: "null"
    }
}

/// As JSON. For the texts of samples, which hold nothing to escape.
private func written(_ json: SlowJSON) -> String {
    switch json {
    case .object(let members):
        "{" + members.map { #""\#($0.name)":\#(written($0.value))"# }.joined(separator: ",") + "}"
    case .array(let elements): "[" + elements.map(written).joined(separator: ",") + "]"
    default: sorted(json)
    }
}
