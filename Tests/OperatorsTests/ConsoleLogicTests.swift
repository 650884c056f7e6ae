@testable import OperatorsCore
import Contract
import HTTPAccess
import ServerCrypto
import Store
import Telemetry
import Testing

/// Building blocks of the console's pages.
@Suite struct ConsoleLogicTests {
    static let hostile =
        #"</td><script>alert('x')</script><img src=x onerror="x"> & 'single' "double" `tick` &lt; \u202E"#

    // MARK: Markup

    @Test func valuesAreTextAndNeverMarkup() {
        let value = #"<a href="x" title='y'>&amp;</a>"#
        let page: HTML = "<p title=\"\(value)\">\(value)</p>"
        let text = "&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;&lt;/a&gt;"
        #expect(page.text == "<p title=\"\(text)\">\(text)</p>")
        #expect(
            ("\(Substring(value)) \(7) \([page, "<hr>"]) \(nil as HTML?)" as HTML).text == "\(text) 7 \(page.text)<hr> "
        )
    }

    /// The tags of a page, with the names of their attributes; what a browser would make of it, and nothing of what it says.
    private func skeleton(_ page: HTML) -> [String] {
        var tags: [String] = []
        var rest = page.text[...]
        while let begin = rest.firstIndex(of: "<") {
            var (tag, quote) = ("", nil as Character?)
            rest = rest[begin...].dropFirst()
            while let character = rest.popFirst() {
                if character == quote {
                    quote = nil
                } else if quote == nil, character == "\"" || character == "'" {
                    quote = character
                } else if quote == nil, character == ">" {
                    break
                } else if quote == nil {
                    tag.append(character)
                }
            }
            tags.append(tag)
        }
        return tags
    }

    @Test func hostileWordsChangeNoPage() throws {
        let (now, id) = (Timestamp(milliseconds: 1_730_000_000_000), WhisperID("WSP-AAAA-AAAA-AAAA")!)
        let session = ConsoleSession(id: Array(repeating: 7, count: 33), role: .operator, endsAt: now)
        func pages(_ word: String) throws -> [ConsolePage] {
            let event = AuditTable.Entry(
                number: 1, at: now, event: AuditEvent(.operator, word, target: word, result: word, note: word))
            let letter = PushViews.DeadLetter(
                number: 1, at: now, recipient: id, wakeID: UUIDText(high: 1, low: 2), kind: word, provider: word,
                reason: word,
                tries: 3)
            let report = ReportTable.Entry(
                number: 1, id: UUIDText(high: 1, low: 2), reporter: id, target: id, reason: word, note: word,
                evidence: .verified,
                status: word, createdAt: now, reviewedAt: now)
            let ban = BanTable.Entry(number: 1, principal: .identity(id), reason: word, createdAt: now, expiresAt: now)
            let deliveries = OperatorService.MessageDeliveries(
                deliveries: [
                    ClusterViews.Delivery(
                        sender: id, recipient: id, group: UUIDText(high: 1, low: 2), status: .read, acceptedAt: now,
                        deliveredAt: now, readAt: now, expiredAt: now)
                ],
                wakes: [
                    id: PushViews.LastWakeUp(
                        at: now, provider: word, result: word, wakeID: UUIDText(high: 1, low: 2), wokeAt: now)
                ])
            let next = Cursor(after: 1)
            return [
                .overview(
                    OperatorService.Figures(
                        statistics: ClusterViews.Statistics(), online: 0, gateways: [], databaseBytesMax: 1_000_000),
                    changes: [event], deadLetters: [letter],
                    fullest: [ClusterViews.FullMailbox(recipient: id, messages: 1, bytes: 1, fill: 0.5)],
                    health: OperatorService.Health(processes: [], gateways: [word, nil], pace: nil, backup: nil),
                    shown: 5, at: now),
                .people(
                    asked: word,
                    .found(PersonViews.Person(id: id, createdAt: now, isBanned: true, platform: word, seenOn: word)),
                    of: session, at: now),
                .reports([report], try ReportFilter("all"), next: next, done: .banned, of: session, at: now),
                .bans([ban], next: next, done: .lifted, of: session, at: now),
                .message(asked: word, .found(deliveries), at: now),
                .message(asked: word, .refused(HTTPRefusal(.notFound, word)), at: now),
                .wakeUps([letter], next: next, at: now),
                .audit([event], target: word, isAll: true, next: next, at: now),
                .login(problem: word), .refusal(HTTPRefusal(.forbidden, word)),
            ]
        }
        for (harmless, hostile) in zip(try pages("word"), try pages(Self.hostile)) {
            let page = hostile.document(for: session)
            #expect(self.skeleton(page) == self.skeleton(harmless.document(for: session)), "\(hostile.title.text)")
            #expect(!page.text.contains("Optional") && !page.text.contains("OperatorsCore"), "\(hostile.title.text)")
            #expect(page.text.contains("&lt;script&gt;") || page.text.contains("%3Cscript%3E"), "\(hostile.title.text)")
        }
        // The skeleton does see what it must not find.
        #expect(self.skeleton("<p><script></p>") != self.skeleton("<p>word</p>"))
    }

    /// A message that was read needs no push, and the page must not look as if one had to be mended.
    @Test func aMessageThatArrivedShowsNoFailedPush() {
        let (now, id) = (Timestamp(milliseconds: 1_730_000_000_000), WhisperID("WSP-AAAA-AAAA-AAAA")!)
        func page(
            _ status: AdminOperations.MessageStatus, deliveredAfter seconds: Int64?, pushedAfter pushed: Int64?
        ) -> String {
            let delivery = ClusterViews.Delivery(
                sender: id, recipient: id, group: nil, status: status, acceptedAt: now,
                deliveredAt: seconds.map { now + .seconds($0) }, readAt: nil, expiredAt: nil)
            let wake = pushed.map {
                PushViews.LastWakeUp(
                    at: now + .seconds($0), provider: "apns", result: "unavailable",
                    wakeID: UUIDText(high: 1, low: 2), wokeAt: nil)
            }
            let found = OperatorService.MessageDeliveries(deliveries: [delivery], wakes: wake.map { [id: $0] } ?? [:])
            return ConsolePage.message(asked: "x", .found(found), at: now).body.text
        }
        let faults = ["Last wake-up", "not seen yet", "No wake-up"]
        for status in [AdminOperations.MessageStatus.delivered, .read] {
            let shown = page(status, deliveredAfter: 60, pushedAfter: 2)
            #expect(faults.allSatisfy { !shown.contains($0) }, "\(status)")
            #expect(shown.contains("Arrived. Before that a wake-up was pushed: apns, <bdi>unavailable</bdi>, +2.0 s."))
            for other in [-1, 61, nil] as [Int64?] {
                let shown = page(status, deliveredAfter: 60, pushedAfter: other)
                #expect((faults + ["Arrived."]).allSatisfy { !shown.contains($0) }, "\(status)")
            }
        }
        let waiting = page(.pending, deliveredAfter: nil, pushedAfter: 2)
        #expect(waiting.contains("Last wake-up") && waiting.contains("not seen yet"))
        #expect(page(.pending, deliveredAfter: nil, pushedAfter: nil).contains("No wake-up"))
    }

    /// Many operators look, at any distance: each is told by two looks that are far enough apart.
    @Test func messagesAMinuteAreToldByTwoLooks() {
        let pace = MessagePace(apart: .seconds(30))
        let start = Timestamp(milliseconds: 1_000_000)
        func look(_ stored: Int64, _ seconds: Int64) -> MessagePace.Pace? {
            pace.look(stored, at: start + .seconds(seconds))
        }
        #expect(look(100, 0) == nil && look(110, 1) == nil)
        #expect(look(130, 30) == MessagePace.Pace(perMinute: 60, over: .seconds(30)))
        #expect(look(131, 31) == MessagePace.Pace(perMinute: 60, over: .seconds(31)))
        // The look at 30 s is the earlier one now.
        #expect(look(330, 90) == MessagePace.Pace(perMinute: 200, over: .seconds(60)))
        // A restored database counts from before.
        #expect(look(0, 150) == MessagePace.Pace(perMinute: 0, over: .seconds(60)))
    }

    @Test func aProcessIsKnownByItsName() {
        let name = ProcessName("router", 12, release: "1.2.3-rc.1")
        #expect(name.text == "whisper-router-12 1.2.3-rc.1" && ProcessName(name.text) == name)
        for other in ["psql", "whisper-router-walk-1", "whisper-router-migrate", "whisper-router-1", "whisper-x-1 <b>"]
        {
            #expect(ProcessName(other) == nil, "\(other)")
        }
        #expect(ProcessName("attachments", 9_999).text.utf8.count < 64)
    }

    /// A reason or a note in the midst of a sentence leaves the direction of the rest as it is.
    @Test func foreignWordsTurnNoSentence() {
        let page: HTML = "<p>Why: \(foreign: "a\u{2069}\u{202E}b & c").</p>"
        #expect(page.text == "<p>Why: <bdi>ab &amp; c</bdi>.</p>")
    }

    // MARK: Forms

    @Test func formsAreReadAsBrowsersWriteThem() {
        let form = URLEncodedForm(Array("a=1+2%2B3&b=%C3%A9&c&a=9&d==&%65=x&f=%zz%4&g=".utf8))
        #expect(
            form?["a"] == "1 2+3" && form?["b"] == "é" && form?["c"] == "" && form?["d"] == "=" && form?["e"] == "x")
        #expect(form?["f"] == "%zz%4" && form?["g"] == "" && form?["h"] == nil)
        #expect(URLEncodedForm(Array("a=%C3".utf8)) == nil && URLEncodedForm([0x61, 0x3D, 0xFF]) == nil)
        #expect(URLEncodedForm([]) != nil && URLEncodedForm(Array("&&=&".utf8))?[""] == "")
        let blanks = URLEncodedForm(Array("a=+%09x+y%0A+&b=++&c=".utf8))
        #expect(blanks?.filled("a") == "x y" && blanks?.filled("b") == nil && blanks?.filled("c") == nil)
    }

    @Test(arguments: UInt64(0)..<50) func formsOfAnyBytesAreReadOrRefused(seed: UInt64) {
        var state = seed &* 0x9E37_79B9_7F4A_7C15 | 1
        func next() -> UInt64 {
            state ^= state << 13; state ^= state >> 7; state ^= state << 17
            return state
        }
        let signs = Array("%&=+aF9\u{00}é".utf8) + [0xFF]
        let bytes = (0..<Int(next() % 64)).map { _ in signs[Int(next() % UInt64(signs.count))] }
        guard let form = URLEncodedForm(bytes) else { return }
        // A form that was read can be written again.
        let value = form["a"] ?? ""
        let address = URLEncodedForm.address("/x", [("a", value), ("b", nil)])
        #expect(URLEncodedForm(address.utf8.drop { $0 != UInt8(ascii: "?") }.dropFirst())?["a"] == value)
    }

    @Test func addressesCarryAnything() {
        #expect(URLEncodedForm.address("/x", [("a", nil)]) == "/x")
        #expect(URLEncodedForm.address("/x", [("a", "1&b=2 #é"), ("c", "")]) == "/x?a=1%26b%3D2%20%23%C3%A9&c=")
    }

    // MARK: Words

    @Test(arguments: [
        (0, "1970-01-01 00:00:00"), (951_782_399_999, "2000-02-28 23:59:59"), (951_782_400_000, "2000-02-29 00:00:00"),
        (4_107_542_400_000, "2100-03-01 00:00:00"), (1_730_000_000_123, "2024-10-27 03:33:20"),
        (-1, "1969-12-31 23:59:59"),
        (1_735_689_600_000, "2025-01-01 00:00:00"),
    ]) func timesAreSaidInUTC(milliseconds: Int64, text: String) {
        #expect(Wording.time(Timestamp(milliseconds: milliseconds)) == text)
    }

    @Test func distancesAndAmountsAreRounded() {
        let now = Timestamp(milliseconds: 1_730_000_000_000)
        func far(_ seconds: Int64) -> String { Wording.distance(of: now + .seconds(seconds), from: now) }
        #expect(
            [0, -1, -59, -60, -3_599, -3_600, -172_799, -172_800].map(far) == [
                "now", "1 s ago", "59 s ago", "1 min ago", "59 min ago", "1 h ago", "47 h ago", "2 days ago",
            ])
        #expect(far(86_400) == "in 24 h")
        #expect(Wording.step(from: now, to: now + .milliseconds(949)) == "+0.9 s")
        #expect(
            Wording.step(from: now, to: now + .seconds(125)) == "+2 min"
                && Wording.step(from: now, to: now - .seconds(1)) == "+0.0 s")
        #expect([0, 999, 1_000, 1_234_567, -1_000].map(Wording.count) == ["0", "999", "1,000", "1,234,567", "-1,000"])
        #expect(
            [0, 1_023, 1_024, 123_456_789, .max].map(Wording.bytes) == [
                "0 B", "1023 B", "1.0 KiB", "117.7 MiB", "8.0 EiB",
            ])
    }

    @Test func termsEnd() {
        let now = Timestamp(milliseconds: 1_730_000_000_000)
        #expect(BanTerm.forever.end(from: now) == nil)
        #expect(
            BanTerm.allCases.dropLast().map { ($0.end(from: now)!.milliseconds - now.milliseconds) / 3_600_000 } == [
                1, 24, 168, 720,
            ])
    }

    // MARK: Sessions

    @Test func cookiesLeaveTheMachineWithTLSAlone() {
        for host in ["127.0.0.1", "127.0.0.1:8081", "localhost", "localhost:8081", "[::1]", "[::1]:8081"] {
            #expect(!ConsoleCookie.made("x", life: 60, for: host).secure, "\(host)")
        }
        for host in [nil, "", "ops.example.org", "127.0.0.1.example.org:80", "localhost.example.org", "[::2]", "[::1"] {
            #expect(ConsoleCookie.made("x", life: 60, for: host).secure, "\(host ?? "none")")
        }
        let cookie = ConsoleCookie.made("x", life: 60, for: "ops")
        #expect(cookie.httpOnly && cookie.sameSite == .strict && cookie.path == "/console" && cookie.maxAge == 60)
    }

    @Test func aFormTokenIsItsSessionsOwn() {
        let now = Timestamp(milliseconds: 0)
        let session = ConsoleSession(id: Array(repeating: 1, count: 33), role: .viewer, endsAt: now)
        let other = ConsoleSession(id: Array(repeating: 2, count: 33), role: .viewer, endsAt: now)
        #expect(session.owns(formToken: session.formToken))
        for token in [nil, "", other.formToken, session.formToken + "x", "form"] {
            #expect(!session.owns(formToken: token))
        }
    }

    @Test func aMarkTellsARoleAndNothingElse() throws {
        let tokens = try AdminTokens(operator: Secret("o"), viewer: Secret("v"))
        let key: [UInt8] = [1, 2, 3]
        for role in [AdminRole.viewer, .operator] {
            let mark = try #require(tokens.mark(of: role, under: key))
            #expect(tokens.role(marked: mark, under: key) == role)
            #expect(tokens.role(marked: mark, under: [1, 2, 4]) == nil)
            #expect(try AdminTokens(operator: Secret("p"), viewer: Secret("w")).role(marked: mark, under: key) == nil)
        }
        #expect(tokens.role(marked: SHA256.hash(Array("o".utf8)), under: key) == nil)
        #expect(AdminTokens.none.mark(of: .operator, under: key) == nil)
        let both = try AdminTokens(operator: Secret("x"), viewer: Secret("x"))
        #expect(both.role(marked: try #require(both.mark(of: .viewer, under: key)), under: key) == .operator)
    }
}
