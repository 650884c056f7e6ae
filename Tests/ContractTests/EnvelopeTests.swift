import Contract
import Testing

@Suite struct EnvelopeTests {
    @Test(arguments: FrameCatalogue.all.flatMap { frame in frame.samples.map { (frame.type, $0) } })
    func everySampleIsAFrame(type: String, sample: String) throws {
        let message = #"{"type":"\#(type)","requestId":"r1","payload":\#(sample)}"#
        let frame = try read(message)
        #expect(frame.definition.type == type)
        #expect(frame.requestID == "r1")
        #expect(SlowValidator.isValid(message))
    }

    @Test(arguments: [
        // Not JSON, or not an object.
        "", " ", "null", "1", "[]", "\"x\"", "{", "}", "{}}", "{},", "{} x", "\u{FEFF}{}", "{]", "[}", "nul",
        "{\"type\"}",
        "{\"type\":}", "{\"type\":\"ping\",}", "{,\"type\":\"ping\"}", "{type:\"ping\"}", "{'type':'ping'}",
        // Trailing garbage, byte order mark, comments, missing or doubled separators.
        #"{"type":"ping","payload":{}}x"#, #"{"type":"ping","payload":{}}{}"#, "{\"type\":\"ping\",\"payload\":{}}\0",
        "\u{FEFF}{\"type\":\"ping\",\"payload\":{}}", #"{"type":"ping","payload":{}/**/}"#,
        #"{"type":"ping" "payload":{}}"#,
        #"{"type":"ping",,"payload":{}}"#, #"{"type"::"ping","payload":{}}"#, #"{"type":"ping","payload":{}"#,
        "{\"type\":\"ping\",\u{A0}\"payload\":{}}", "{\"type\":\"ping\",\u{0B}\"payload\":{}}",
        // Members that the envelope needs.
        "{}", #"{"type":"ping"}"#, #"{"payload":{}}"#, #"{"type":null,"payload":{}}"#, #"{"type":1,"payload":{}}"#,
        #"{"type":"ping","payload":null}"#, #"{"type":"ping","payload":[]}"#, #"{"type":"ping","payload":"{}"}"#,
        #"{"type":"ping","type":"ping","payload":{}}"#, #"{"type":"ping","payload":{},"payload":{}}"#,
        // Unknown types; names are exact.
        #"{"type":"","payload":{}}"#, #"{"type":"Ping","payload":{}}"#, #"{"type":"ping ","payload":{}}"#,
        #"{"type":"pong","payload":{}}"#, #"{"type":"ping\u0000","payload":{}}"#, #"{"Type":"ping","payload":{}}"#,
        // Values that are not JSON inside fields that nobody knows.
        #"{"type":"ping","payload":{},"x":01}"#, #"{"type":"ping","payload":{},"x":1.}"#,
        #"{"type":"ping","payload":{},"x":.5}"#,
        #"{"type":"ping","payload":{},"x":+1}"#, #"{"type":"ping","payload":{},"x":-}"#,
        #"{"type":"ping","payload":{},"x":1e}"#,
        #"{"type":"ping","payload":{},"x":1e+}"#, #"{"type":"ping","payload":{},"x":0x1}"#,
        #"{"type":"ping","payload":{},"x":NaN}"#,
        #"{"type":"ping","payload":{},"x":True}"#, #"{"type":"ping","payload":{},"x":tru}"#,
        #"{"type":"ping","payload":{},"x":[1,]}"#,
        #"{"type":"ping","payload":{},"x":[,1]}"#, #"{"type":"ping","payload":{},"x":"\x"}"#,
        #"{"type":"ping","payload":{},"x":"\u12"}"#,
        #"{"type":"ping","payload":{},"x":"\u12G4"}"#, #"{"type":"ping","payload":{},"x":"\uD83D"}"#,
        #"{"type":"ping","payload":{},"x":"\uDE00"}"#, #"{"type":"ping","payload":{},"x":"\uD83Dx"}"#,
        #"{"type":"ping","payload":{},"x":"\uD83D\n"}"#, #"{"type":"ping","payload":{},"x":"\uD83D\uD83D"}"#,
        #"{"type":"ping","payload":{},"x":"\uDE00\uD83D"}"#, "{\"type\":\"ping\",\"payload\":{},\"x\":\"\n\"}",
        "{\"type\":\"ping\",\"payload\":{},\"x\":\"\u{1F}\"}", #"{"type":"ping","payload":{},"x":"\"}"#,
    ])
    func whatIsNoFrameIsRefused(message: String) {
        #expect(blamed(message) != nil)
        #expect(!SlowValidator.isValid(message))
    }

    @Test(arguments: [
        #" { "type" : "ping" , "payload" : { } } "#, "\t{\r\n\"payload\":{},\"type\":\"ping\"\n}\n",
        #"{"type":"ping","payload":{},"x":{"type":"y","payload":[1,{"a":-0.5e+7}]}}"#,
        #"{"\u0074ype":"p\u0069ng","pay\u006Coad":{}}"#, #"{"type":"ping","payload":{},"x":"\uD83D\uDE00"}"#,
        #"{"type":"ping","payload":{},"requestId":null}"#, #"{"type":"ping","payload":{},"x":"\"\\\/\b\f\n\r\t"}"#,
        "{\"type\":\"ping\",\"payload\":{},\"x\":\"\u{7F}\u{2028}\"}", #"{"type":"ping","payload":{},"":0,"":1}"#,
        #"{"type":"ping","payload":{},"x":1E400}"#, #"{"type":"ping","payload":{"timestamp":null}}"#,
    ])
    func anySpellingOfJSONIsAFrame(message: String) throws {
        #expect(try read(message).definition.type == "ping")
        #expect(SlowValidator.isValid(message))
    }

    @Test func aTypeStandsForOneFrame() {
        #expect(Set(FrameCatalogue.all.map(\.type)).count == FrameCatalogue.all.count)
    }

    // MARK: requestId

    @Test(arguments: [
        #""a""#, #"" ""#, #""~""#, characters(64), #""\u0041\/""#, #""\"""#,
    ])
    func aRequestIDIsOneTo64PrintableASCIICharacters(json: String) throws {
        var draft = Draft(Ping.definition)
        draft.requestID = json
        guard case .string(let text)? = SlowJSON.parse(json) else { return #expect(Bool(false), "not a string") }
        #expect(try read(draft.message).requestID == text)
    }

    @Test(arguments: [
        #""""#, characters(65), #""\u001f""#, #""\u007f""#, #""é""#, #""\n""#, "1", "true", "[]", "{}", #""\u0000""#,
    ])
    func otherRequestIDsAreRefusedAndNotEchoed(json: String) {
        var draft = Draft(Ping.definition)
        draft.requestID = json
        let failure = #expect(throws: FrameDecoder.Failure.self) { try read(draft.message) }
        #expect(failure?.violation.field == "requestId")
        #expect(failure?.requestID == nil)
        #expect(!SlowValidator.isValid(draft.message))
    }

    @Test(arguments: [
        #"{"type":5,"requestId":"r9","payload":{}}"#, #"{"requestId":"r9","type":"nothing","payload":{}}"#,
        #"{"payload":0,"requestId":"r9","type":"ping"}"#, #"{"payload":{},"requestId":"r9"}"#,
        #"{"type":"ping","payload":{"timestamp":0},"requestId":"r9"}"#,
        #"{"type":"ping","payload":{"timestamp":0},"requestId":"r9","requestId":"r9"}"#,
    ])
    func aRefusedFrameStillNamesItsRequest(message: String) {
        let failure = #expect(throws: FrameDecoder.Failure.self) { try read(message) }
        #expect(failure?.requestID == "r9")
    }

    // MARK: Depth

    @Test func nestingIsBounded() {
        // The envelope is one level; in the payload a field starts two further in.
        for (levels, isValid) in [(Limits.jsonDepthMax - 1, true), (Limits.jsonDepthMax, false)] {
            let nested = String(repeating: "[", count: levels) + String(repeating: "]", count: levels)
            #expect((blamed(#"{"type":"ping","payload":{},"x":\#(nested)}"#) == nil) == isValid)
            let inPayload = String(nested.dropFirst().dropLast())
            #expect((blamed(#"{"type":"ping","payload":{"x":\#(inPayload)}}"#) == nil) == isValid)
        }
    }

    @Test func aFrameFullOfBracketsIsRefusedWithoutHarm() {
        for bracket in ["[", "{\"a\":"] {
            let message = #"{"type":"ping","payload":{"x":"# + String(repeating: bracket, count: 100_000)
            #expect(blamed(message) != nil)
        }
    }

    // MARK: Bare payloads

    @Test func aBarePayloadIsOneObjectAndNothingElse() throws {
        let schema = Ping.definition.schema
        let payload = try FrameDecoder.payload(bare: Array(#"{"timestamp":5}"#.utf8), schema: schema)
        #expect(payload.integer(0) == 5)
        for bare in ["", "null", "[]", "{", #"{"timestamp":0}"#, #"{"timestamp":5}x"#, "{}{}"] {
            #expect(throws: PayloadViolation.self, "\(bare)") {
                try FrameDecoder.payload(bare: Array(bare.utf8), schema: schema)
            }
        }
    }
}
