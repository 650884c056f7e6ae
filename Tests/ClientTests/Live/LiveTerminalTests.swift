import Contract
import Testing

@testable import WhisperClient
@testable import WhisperTerminal

/// Input lines of whisperers, and the output that listeners see.
@Suite struct LiveTerminalTests {
    @Test(arguments: [
        ("hello", WhisperOrder.text("hello")), ("", .text("")), ("//etc/hosts", .text("/etc/hosts")),
        ("/accept", .accept(nil)), ("/accept Bert the Second", .accept("Bert the Second")), ("/decline", .decline(nil)),
        ("/remove Bert", .remove("Bert")), ("/remove", .unknown("remove")), ("/block Bert", .block("Bert")),
        ("/who", .who), ("/end", .end), ("/end now", .unknown("end now")), ("/", .unknown("")),
        (" /who", .who), ("/help", .help), (" //who", .text(" /who")), ("/blokc Bert", .unknown("blokc Bert")),
        ("a /who", .text("a /who")),
    ])
    func ordersBeginWithASlash(_ line: String, _ order: WhisperOrder) {
        #expect(WhisperOrder(line: line) == order)
    }

    /// People choose their names themselves: the id decides.
    @Test func whoIsMeantIsSure() {
        let people: [(id: PrincipalID, name: String)] = [
            (.identity(bobID), "Bert"), (.identity(carolID), "bert"), (.identity(aliceWords.id), "Anna"),
        ]
        #expect(WhisperControl.choose("anna", people) == .one(.identity(aliceWords.id)))
        #expect(WhisperControl.choose("\(carolID)", people) == .one(.identity(carolID)))
        for name in ["bert", "Carl"] {
            if case .one = WhisperControl.choose(name, people) { Issue.record("\(name) is nobody for sure") }
        }
    }

    @Test func theLiveTextStaysInTheLastRow() {
        var screen = ListenScreen(isPlain: false, width: 10)
        #expect(screen.show(live: "hello") == "\r\u{1B}[Khello")
        #expect(screen.add("done") == "\r\u{1B}[Kdone\nhello")
        // Only the end of it fits.
        #expect(screen.show(live: "0123456789abc") == "\r\u{1B}[K456789abc")
        #expect(screen.show(live: "") == "\r\u{1B}[K")
    }

    @Test func pipesGetCompletedLinesOnly() {
        var screen = ListenScreen(isPlain: true, width: 10)
        #expect(screen.show(live: "hel") == "")
        #expect(screen.add("hello, this is long") == "hello, this is long\n")
    }

    /// A whisperer is somebody else: what it types commands no terminal.
    @Test func whatIsHeardIsHarmless() {
        var screen = ListenScreen(isPlain: false, width: 40)
        #expect(!screen.show(live: "a\u{9B}2Jb").dropFirst(4).unicodeScalars.contains("\u{9B}"))
        #expect(!screen.add("a\u{202E}b").unicodeScalars.contains("\u{202E}"))
        let news = LiveNews.listener(.identity(bobID), name: "a\u{1B}[2Jb", .joined, joined: 1)
        #expect(describe(news) { _ in "" } == "+ a\u{FFFD}[2Jb listens (1 listens).")
    }

    @Test func tagsSayWhatTheyStandFor() {
        let id = ConversationKeys(secret: SecretBytes([UInt8](0..<32))).id
        for tag in [
            RequestTag.question(7), .packet(id, LivePosition(epoch: 7, seq: 9_007_199_254_740_991)), .resync(id),
            .message(.random()), .receipt(.random()), .register, .refresh, .fetch, .ping,
        ] {
            #expect(RequestTag(tag.text) == tag)
            #expect(Limits.requestIDCharacters.contains(tag.text.count))
        }
        for text in ["q:", "q:x", "p:\(id):1", "p:\(id):1:2:3", "s:", "m:\(id):1", "z:1", ""] {
            #expect(RequestTag(text) == nil)
        }
    }
}
