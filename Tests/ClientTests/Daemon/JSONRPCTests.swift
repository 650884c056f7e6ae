import Contract
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// JSON-RPC 2.0 in front of a core.
@Suite(.timeLimit(.minutes(20))) struct JSONRPCTests {
    let folder: TemporaryFolder
    let core: Core

    init() throws {
        self.folder = try TemporaryFolder()
        let server = FakeServer()
        self.core = try Core.open(
            CoreConfiguration(folder: self.folder.path + "/ann", server: "ws://127.0.0.1:1"), link: { _ in server })
    }

    private func answer(_ line: String) async throws -> JSON? {
        try await JSONRPC.answer(Array(line.utf8), from: self.core).map { try JSON(parsing: $0) }
    }

    /// The number of the error, and the id.
    private func refusal(_ line: String) async throws -> String {
        let answer = try #require(try await self.answer(line), "no answer to \(line)")
        #expect(answer["jsonrpc"]?.string == "2.0" && answer["result"] == nil)
        let code = try #require(answer["error"]?["code"]?.integer, "\(answer.text)")
        return "\(code) \(answer["id"]?.text ?? "")"
    }

    @Test func aVerbIsDone() async throws {
        let line = #" {"jsonrpc":"2.0","id":7,"method":"identity_show","params":{}} "#
        let answer = try #require(try await self.answer(line))
        #expect(answer["id"]?.integer == 7 && answer["result"]?["hasIdentity"] == .bool(false))
        // Escapes are JSON like any other, and parameters may be left out.
        let escaped = #"{"jsonrpc":"2.0","id":7,"method":"identity\u005fshow"}"#
        #expect(try await self.answer(escaped) == answer)
    }

    @Test func anIDIsRepeatedAsItWasWritten() async throws {
        for id in ["1", "-2.50e3", #""a\u00e9\"""#, "null", "\"\(String(repeating: "x", count: 254))\""] {
            let text = #"{"jsonrpc":"2.0","id":\#(id),"method":"identity_show"}"#
            let answer = try #require(await JSONRPC.answer(Array(text.utf8), from: self.core))
            #expect(String(decoding: answer, as: UTF8.self).hasPrefix(#"{"jsonrpc":"2.0","id":\#(id),"result":{"#))
        }
        for id in ["true", "[1]", "{}", "\"\(String(repeating: "x", count: 255))\""] {
            let text = #"{"jsonrpc":"2.0","id":\#(id),"method":"identity_show"}"#
            #expect(try await self.refusal(text) == "-32600 null")
        }
    }

    @Test func whatIsNoJSONIsAParseError() async throws {
        for line in ["", "{", "hello", #"{"id":1}}"#, #"{"a":'b'}"#, "[1,]"] {
            #expect(try await self.refusal(line) == "-32700 null")
        }
        let answer = try #require(await JSONRPC.answer([0x22, 0xFF, 0x22], from: self.core))
        #expect(try JSON(parsing: answer)["error"]?["code"]?.integer == -32_700)
    }

    @Test func whatIsNoRequestIsRefused() async throws {
        for line in ["7", #""text""#, "null", "[]", "{}", #"{"jsonrpc":"2.0","jsonrpc":"2.0","method":"connect"}"#] {
            #expect(try await self.refusal(line) == "-32600 null")
        }
        for members in [
            #""method":"identity_show""#, #""jsonrpc":"1.0","method":"identity_show""#,
            #""jsonrpc":2.0,"method":"identity_show""#, #""jsonrpc":"2.0","method":1"#, #""jsonrpc":"2.0""#,
            #""jsonrpc":"2.0","method":"identity_show","more":1"#,
        ] {
            #expect(try await self.refusal("{\"id\":3,\(members)}") == "-32600 3")
        }
        let long = Array(repeating: UInt8(ascii: " "), count: JSONRPC.lineBytesMax + 1)
        let answer = try #require(await JSONRPC.answer(long, from: self.core))
        #expect(try JSON(parsing: answer)["error"]?["code"]?.integer == -32_600)
    }

    @Test func verbsRefuseWithTheirOwnCodes() async throws {
        let unknown = try #require(
            try await self.answer(#"{"jsonrpc":"2.0","id":1,"method":"chat_lst"}"#)?["error"])
        #expect(unknown["code"]?.integer == -32_601 && unknown["data"]?["code"]?.string == "unknownVerb")
        #expect(unknown["data"]?["similar"]?.elements.first?.string == "chat_list")
        for parameters in [#"{"limit":"many"}"#, #"{"unknown":1}"#, #"{"limit":1,"limit":1}"#, "[1]", "null", "7"] {
            let line = #"{"jsonrpc":"2.0","id":1,"method":"chat_list","params":\#(parameters)}"#
            #expect(try await self.refusal(line) == "-32602 1")
        }
        let refused = try #require(
            try await self.answer(#"{"jsonrpc":"2.0","id":1,"method":"chat_list"}"#)?["error"])
        #expect(refused["code"]?.integer == -32_000 && refused["data"]?["code"]?.string == "noIdentity")
        #expect(refused["data"]?["retryable"] == .bool(false))
    }

    @Test func notificationsAreDoneAndNeverAnswered() async throws {
        #expect(try await self.answer(#"{"jsonrpc":"2.0","method":"identity_create"}"#) == nil)
        let shown = try await self.answer(#"{"jsonrpc":"2.0","id":1,"method":"identity_show"}"#)
        #expect(shown?["result"]?["hasIdentity"] == .bool(true))
        for refused in [#""method":"nothing""#, #""method":"chat_list","params":[]"#, #""method":"identity_create""#] {
            #expect(try await self.answer(#"{"jsonrpc":"2.0",\#(refused)}"#) == nil)
        }
    }

    @Test func anArrayOfRequestsIsAnsweredByOne() async throws {
        let show = #"{"jsonrpc":"2.0","id":1,"method":"identity_show"}"#
        let silent = #"{"jsonrpc":"2.0","method":"identity_create"}"#
        let again = #"{"jsonrpc":"2.0","id":"b","method":"identity_show"}"#
        let answers = try #require(try await self.answer("[\(show), \(silent),7,\(again)]")).elements
        // In their order: the first was done before there was an identity.
        try #require(answers.count == 3)
        #expect(answers[0]["id"]?.integer == 1 && answers[0]["result"]?["hasIdentity"] == .bool(false))
        #expect(answers[1]["id"]?.text == "null" && answers[1]["error"]?["code"]?.integer == -32_600)
        #expect(answers[2]["id"]?.string == "b" && answers[2]["result"]?["hasIdentity"] == .bool(true))
        #expect(try await self.answer("[\(silent)]") == nil)
        let many = Array(repeating: silent, count: JSONRPC.batchMax)
        #expect(try await self.answer("[\(many.joined(separator: ","))]") == nil)
        #expect(try await self.refusal("[\((many + [silent]).joined(separator: ","))]") == "-32600 null")
    }

    @Test func anArrayThatWantsTooMuchGetsTheRestRefused() async throws {
        // The description of all verbs is long.
        let length = try #require(
            await JSONRPC.answer(Array(#"{"jsonrpc":"2.0","id":1,"method":"schema"}"#.utf8), from: self.core)
        ).count
        let served = (JSONRPC.batchAnswerBytesMax + length - 1) / length
        try #require(served < JSONRPC.batchMax)
        let requests = (0..<JSONRPC.batchMax).map { #"{"jsonrpc":"2.0","id":\#($0),"method":"schema"}"# }
        let answers = try #require(try await self.answer("[\(requests.joined(separator: ","))]")).elements
        #expect(answers.count == JSONRPC.batchMax)
        #expect(answers.prefix(served).allSatisfy { $0["result"] != nil })
        #expect(answers.dropFirst(served).allSatisfy { $0["error"]?["data"]?["code"]?.string == "tooMany" })
    }

    @Test func eventsAreNotifications() {
        let line = JSONRPC.notification(of: Array(#"{"seq":3,"event":{"type":"caughtUp"}}"#.utf8))
        let text = #"{"jsonrpc":"2.0","method":"event","params":{"seq":3,"event":{"type":"caughtUp"}}}"#
        #expect(String(decoding: line, as: UTF8.self) == text)
    }
}
