import Contract
import TestKit
import Testing

@testable import WhisperClient
@testable import WhisperCore

/// Live conversations as verbs and events of the core, as far as they need no server (contract §14).
@Suite(.timeLimit(.minutes(20))) struct LiveVerbTests {
    let hosts: CoreHosts

    init() throws { self.hosts = try CoreHosts() }

    static let id = ConversationID("3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61")!

    @Test func aConversationIsMadeAndWhisperedInWithoutAServer() async throws {
        let ann = try await self.hosts.offline("ann")
        #expect(try await ann.refusal(#"live_create {"name":"talk"}"#) == "invalidField whisperer")
        #expect(
            try await ann.refusal(#"live_create {"name":"talk","whisperer":"Ann","admission":"passcode"}"#)
                == "invalidField passcode")
        #expect(
            try await ann.refusal(#"live_create {"name":"a\u0007b","whisperer":"Ann"}"#) == "invalidField name")
        let own = try await ann.perform(#"live_create {"name":"talk","whisperer":"Ann","passcode":"open"}"#)[
            "conversation"]
        #expect(own?["title"]?.string == "talk" && own?["admission"]?.string == "passcode")
        #expect(try await ann.refusal(#"live_create {"name":"talk","whisperer":"Ann"}"#) == "nameTaken name")
        let known = try await ann.perform("live_known")
        #expect(known["own"]?.elements == [try #require(own)] && known["heard"]?.elements == [])

        let id = try #require(own?["conversationId"]?.string)
        let named = #""conversationId":"\#(id)""#
        for verb in ["live_type", "live_line"] {
            #expect(try await ann.refusal("\(verb) {\(named),\"text\":\"x\"}") == "notFound conversationId")
        }
        for parameters in [named, #""before":1"#] {
            #expect(try await ann.refusal("live_get {\(parameters)}") == "notFound conversationId")
        }
        try await ann.perform("live_start {\(named)}")
        try await ann.perform(#"live_type {\#(named),"text":"Is th"}"#)
        // Saying it again does not begin anew.
        try await ann.perform("live_start {\(named)}")
        let typed = try await ann.perform(#"live_type {\#(named),"text":"Is this on?\nY"}"#)
        #expect(typed["text"]?.string == "Y")
        try await ann.perform(#"live_line {\#(named),"text":"in between"}"#)
        try await ann.perform(#"live_cue {\#(named),"sound":"air-horn"}"#)
        #expect(try await ann.refusal(#"live_cue {\#(named),"sound":"air-horn","say":"x"}"#) == "invalidField sound")
        #expect(try await ann.refusal("live_cue {\(named)}") == "invalidField sound")
        let view = try await ann.perform("live_get {\(named)}")
        #expect(view["role"]?.string == "whisperer" && view["state"]?.string == "starting")
        #expect(view["text"]?.string == "Y" && view["lines"]?.elements == [] && view["hasOlder"] == .bool(false))
        #expect(view["waiting"]?.elements == [.string("Is this on?"), .string("in between")])
        // Content waiting for a server that is away has a bound.
        var refusal: String?
        for _ in 0..<WhispererMachine.queueMax where refusal == nil {
            let answer = try JSON(parsing: Array(await ann.core.perform(#"live_line {\#(named),"text":"x"}"#).utf8))
            refusal = answer["error"]?["code"]?.string
        }
        #expect(refusal == "tooMany")
        let roster = try await ann.perform("live_roster {\(named)}")
        #expect(roster["callers"]?.elements == [] && roster["listeners"]?.elements == [])
        for verb in ["live_accept", "live_refuse", "live_remove"] {
            let command = #"\#(verb) {\#(named),"listener":"WSP-AAAA-AAAA-AAAA"}"#
            #expect(try await ann.refusal(command) == "notFound listener", "\(verb)")
        }
        for verb in ["live_list", "live_transcripts {\(named)}", "live_stop {\(named)}", "live_delete {\(named)}"] {
            #expect(try await ann.refusalOfServer(verb) == "offline", "\(verb)")
        }
        // It stays here: the server is told again.
        #expect(try await ann.refusalOfServer(#"live_update {\#(named),"title":"Talk 2","newLink":true}"#) == "offline")
        let changed = try await ann.perform("live_known")["own"]?[0]
        #expect(changed?["title"]?.string == "Talk 2" && changed?["link"] != own?["link"])
        await ann.core.close()
    }

    /// A line that has gone out is told by an event, and found by a program that has missed it.
    @Test func completedLinesAreShownAgain() async throws {
        let ann = try await self.hosts.online("ann")
        let own = try await ann.perform(#"live_create {"name":"talk","whisperer":"Ann"}"#)["conversation"]
        let named = #""conversationId":"\#(try #require(own?["conversationId"]?.string))""#
        try await ann.perform("live_start {\(named)}")
        try await ann.next("liveStarted")
        try await ann.perform(#"live_type {\#(named),"text":"One\nTwo\nThree\nHalf"}"#)
        for (number, text) in [(1, "One"), (2, "Two"), (3, "Three")] {
            let said = try await ann.next("liveSaid")
            #expect(said["line"]?.integer == Int64(number) && said["text"]?.string == text)
        }
        func lines(_ more: String = "") async throws -> [String?] {
            let view = try await ann.perform("live_get {\(named)\(more)}")
            #expect(view["state"]?.string == "live" && view["waiting"]?.elements == [] && view["contentId"] != nil)
            #expect(view["text"]?.string == "Half")
            return view["lines"]?.elements.map { $0["text"]?.string } ?? []
        }
        #expect(try await lines() == ["One", "Two", "Three"])
        #expect(try await lines(#","before":3"#) == ["One", "Two"])
        await ann.core.close()
    }

    @Test func linesComeByPagesAndInTheOrderOfNumbers() {
        var heard = HeardLines()
        for number in [2, 4, 1, 3] { heard.add(number, LiveText("\(number)")!) }
        #expect(heard.lines.map(\.number) == [1, 2, 3, 4])
        let view = LiveView(
            state: .joined(.live), content: nil, isTranscribed: false, text: LiveText(), lines: heard.lines, waiting: []
        )
        for (before, numbers, hasOlder) in [
            (nil, [3, 4], true), (4, [2, 3], true), (3, [1, 2], false), (1, [], false),
        ] {
            let page = view.page(before: before, most: 2)
            #expect(page.lines.map(\.number) == numbers && page.hasOlder == hasOlder)
        }
        for number in 5...HeardLines.keptMax + 1 { heard.add(number, LiveText()) }
        #expect(heard.lines.count == HeardLines.keptMax && heard.lines.first?.number == 2)
    }

    @Test func whatFitsNoConversationIsRefused() async throws {
        let ann = try await self.hosts.offline("ann")
        let (id, secret) = ("\(Self.id)", String(repeating: "A", count: 22))
        for (command, refusal) in [
            (#"live_look {"link":"x"}"#, "invalidField link"),
            (#"live_look {"link":"https://other.example/listen/\#(id)#\#(secret)"}"#, "invalidField link"),
            (#"live_look {"link":"http://127.0.0.1:1/listen/\#(id)#\#(secret)"}"#, "notFound"),
            (#"live_listen {"name":"Bob"}"#, "invalidField link"),
            (#"live_listen {"name":"Bob","conversationId":"\#(id)"}"#, "notFound conversationId"),
            (#"live_listen {"name":"Bob","link":"http://127.0.0.1:1/listen/\#(id)#\#(secret)"}"#, "notFound"),
            (#"live_stop {"conversationId":"\#(id)"}"#, "notFound conversationId"),
            (#"live_update {"conversationId":"\#(id)"}"#, "notFound conversationId"),
        ] {
            #expect(try await ann.refusalOfServer(command) == refusal, "\(command)")
        }
        #expect(
            try await ann.refusal(#"live_attention {"conversationId":"\#(id)","want":"hand"}"#)
                == "notFound conversationId")
        #expect(try await ann.refusal(#"live_start {"conversationId":"\#(id)"}"#) == "notFound conversationId")
        await ann.core.close()
    }

    /// All that a whisperer or a listener may be told.
    static var news: [(LiveNews, type: String)] {
        let bob = PrincipalID("WSP-AAAA-AAAA-AAAA")!
        let share = SharedTranscript(share: .random(), secret: Array(repeating: 3, count: 16))
        let text = LiveText("x")!
        return [
            (.started(isResumed: true), "liveStarted"), (.refused(.forbidden), "liveFailed"),
            (.asks(bob, name: "Bob", note: "hello"), "liveKnocked"), (.keysChanged(generation: 2), "liveKeysChanged"),
            (.said(1, text), "liveSaid"),
            (.waiting, "liveWaiting"),
            (.joined(.live, isTranscribed: true), "liveJoined"), (.heard(.began(.random())), "liveBegan"),
            (.heard(.text(LiveText())), "liveText"), (.heard(.line(1, text)), "liveLine"),
            (.heard(.missing(2...3)), "liveMissing"), (.heard(.cue(.sound(.airHorn))), "liveCue"),
            (.heard(.cue(.say(text))), "liveCue"), (.heard(.cue(.transcript(share))), "liveCue"),
        ]
            + LiveStopped.Reason.allCases.map { (.stopped($0), "liveStopped") }
            + LiveListenerChanged.Status.allCases.map { (.listener(bob, name: "Bob", $0, joined: 1), "liveListener") }
            + LiveAttention.Want.allCases.map { (.attention(bob, name: "Bob", $0), "liveAttention") }
            + LiveState.State.allCases.map { (.state($0), "liveState") }
            + ([.notFound, .forbidden, .broken] + LiveRefused.Reason.allCases.map { .refused($0) })
            .map { (.over($0, note: "bye"), "liveEnded") }
    }

    @Test func eachEventIsWhatItsDeclarationSays() throws {
        for (news, type) in Self.news {
            let text = try #require(EventText.event(Self.id, news, origin: "https://chat.example", account: nil))
            let event = try #require(try JSON(parsing: text)["event"])
            let definition = try #require(EventDefinition.all.first { $0.type == type })
            _ = try FrameDecoder.payload(strict: Array(event.text.utf8), schema: definition.fields)
        }
        #expect(Set(Self.news.map(\.type)) == Set(EventDefinition.ofLive.map(\.type)))
        let asked = LiveNews.heard(.resync(.start, line: 0))
        #expect(EventText.event(Self.id, asked, origin: "", account: nil) == nil)
    }
}
