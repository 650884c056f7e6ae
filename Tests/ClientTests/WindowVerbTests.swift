import Contract
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Verbs for hosts that show a window: words, servers, looks, and answers that were missed.
@Suite(.timeLimit(.minutes(20))) struct WindowVerbTests {
    let hosts: CoreHosts

    init() throws { self.hosts = try CoreHosts() }

    private func fresh(_ name: String) throws -> Core {
        let server = self.hosts.server
        return try Core.open(
            CoreConfiguration(folder: self.hosts.folder.path + "/" + name, server: "ws://127.0.0.1:1"),
            link: { configuration -> any ServerLink in
                guard configuration.server.contains("silent") else { return server }
                return try NetworkLink(ServerAddress("ws://127.0.0.1:1")!)
            })
    }

    private func perform(_ core: Core, _ command: String) async throws -> JSON {
        try JSON(parsing: Array(await core.perform(command).utf8))
    }

    @Test func wordsAreDrawnAndCheckedWithoutAnIdentity() async throws {
        let core = try self.fresh("ann")
        let words = try #require(try await self.perform(core, "words_draw")["result"]?["words"]?.string)
        #expect(try await self.perform(core, "identity_show")["result"]?["hasIdentity"] == .bool(false))
        func check(_ words: String) async throws -> JSON? {
            try await self.perform(core, #"words_check {"words":"\#(words)"}"#)["result"]
        }
        #expect(try await check(words.uppercased())?["isPhrase"] == .bool(true))
        let wrong = try #require(try await check("abandon zzz " + words))
        #expect(wrong["isPhrase"] == .bool(false) && wrong["count"]?.integer == 14)
        #expect(wrong["unknown"]?.elements.compactMap(\.integer) == [2])
        let found = try await self.perform(core, #"words_find {"prefix":"ABA"}"#)["result"]?["words"]
        #expect(found?.elements.compactMap(\.string) == ["abandon"])
        let many = try await self.perform(core, #"words_find {"prefix":"a"}"#)["result"]?["words"]
        #expect(many?.elements.count == CoreLimits.wordsFoundMax)
        // The words become the identity that they are.
        #expect(try await self.perform(core, #"identity_restore {"words":"\#(words)"}"#)["result"] != nil)
        await core.close()
    }

    @Test func aServerIsChosenBeforeTheIdentity() async throws {
        let core = try self.fresh("ann")
        let check = try await self.perform(core, #"server_check {"url":"chat.example"}"#)["result"]
        #expect(check?["url"]?.string == "wss://chat.example" && check?["answers"] == .bool(true))
        let silent = try await self.perform(core, #"server_check {"url":"ws://silent"}"#)["result"]
        #expect(silent?["answers"] == .bool(false))
        for url in ["ftp://chat.example", "wss://", "a b"] {
            let error = try await self.perform(core, #"server_set {"url":"\#(url)"}"#)["error"]
            #expect(error?["field"]?.string == "url", "\(url)")
        }
        #expect(try await self.perform(core, #"server_set {"url":"ws://chat.example:81"}"#)["result"] != nil)
        #expect(core.configuration.server == "ws://chat.example:81")
        #expect(try await self.perform(core, "identity_create")["result"] != nil)
        #expect(try core.opened().store.settings.server() == ServerAddress("ws://chat.example:81"))
        let late = try await self.perform(core, #"server_set {"url":"other.example"}"#)["error"]
        #expect(late?["code"]?.string == "identityExists")
        await core.close()
    }

    @Test func aHostKeepsAFewTexts() async throws {
        let host = try await self.hosts.offline("ann")
        try await host.perform(#"host_set {"key":"theme","value":"dark"}"#)
        try await host.perform(#"host_set {"key":"theme","value":"light"}"#)
        for number in 1..<ClientLimits.hostValuesMax {
            try await host.perform(#"host_set {"key":"k\#(number)","value":"v"}"#)
        }
        #expect(try await host.refusal(#"host_set {"key":"more","value":"v"}"#) == "tooMany key")
        let long = String(repeating: "é", count: ClientLimits.hostValueBytesMax / 2 + 1)
        #expect(try await host.refusal(#"host_set {"key":"theme","value":"\#(long)"}"#) == "tooLong value")
        try await host.perform(#"host_set {"key":"k1","value":""}"#)
        let values = try await host.perform("host_get")["values"]?.elements ?? []
        #expect(values.count == ClientLimits.hostValuesMax - 1)
        #expect(values.first { $0["key"]?.string == "theme" }?["value"]?.string == "light")
        await host.core.close()
    }

    @Test func anAnswerThatWasMissedIsGivenAgain() async throws {
        let ann = try await self.hosts.online("ann")
        let bob = try await self.hosts.online("bob").id
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)","corrId":"one"}"#)
        let kept = try await ann.perform(#"answer_get {"of":"one"}"#)
        #expect(kept["verb"]?.string == "contact_add" && kept["result"]?["contact"]?["whisperId"]?.string == bob)
        #expect(try await ann.perform(#"answer_get {"of":"two"}"#)["verb"] == nil)
        await ann.core.close()
    }

    @Test func answersAreForgotten() {
        let answers = LatestAnswers()
        let now = ContinuousClock.now
        for number in 0...CoreLimits.answersKeptMax { answers.keep(.result([]), of: "v", for: "\(number)", at: now) }
        #expect(answers.answer(to: "0", at: now) == nil && answers.answer(to: "1", at: now)?.verb == "v")
        answers.keep(.result([]), of: "w", for: "1", at: now)
        #expect(answers.answer(to: "1", at: now)?.verb == "w")
        #expect(answers.answer(to: "1", at: now + CoreLimits.answersKeptFor) == nil)
    }

    @Test func aPageOfAChatSaysWhatLiesBesideIt() async throws {
        let ann = try await self.hosts.online("ann")
        let bob = try await self.hosts.online("bob").id
        try await ann.ask(#"contact_add {"whisperId":"\#(bob)"}"#)
        for number in 1...5 { try await ann.perform(#"message_send {"to":"\#(bob)","text":"\#(number)"}"#) }
        func page(
            _ bounds: String
        ) async throws -> (texts: [String], hasOlder: JSON?, hasNewer: JSON?, numbers: [Int64]) {
            let page = try await ann.perform(#"chat_get {"chat":"\#(bob)"\#(bounds)}"#)
            let messages = page["messages"]?.elements ?? []
            return (
                messages.compactMap { $0["text"]?.string }, page["hasOlder"], page["hasNewer"],
                messages.compactMap { $0["number"]?.integer }
            )
        }
        let all = try await page("")
        #expect(all.texts == ["1", "2", "3", "4", "5"] && all.hasOlder == .bool(false) && all.hasNewer == .bool(false))
        let latest = try await page(#","limit":2"#)
        #expect(latest.texts == ["4", "5"] && latest.hasOlder == .bool(true) && latest.hasNewer == .bool(false))
        let middle = try await page(#","limit":2,"around":\#(all.numbers[2])"#)
        #expect(middle.hasOlder == .bool(true) && middle.hasNewer == .bool(true), "\(middle)")
        let first = try await page(#","before":\#(all.numbers[0])"#)
        #expect(first.texts.isEmpty && first.hasOlder == .bool(false) && first.hasNewer == .bool(true))
        let rows = try await ann.perform("chat_list")["chats"]?.elements
        #expect(rows?.first?["kind"]?.string == "person" && rows?.first?["firstUnread"] == nil)
        await ann.core.close()
    }
}
