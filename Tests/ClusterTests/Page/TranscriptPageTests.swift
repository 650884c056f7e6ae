import Contract
import Foundation
import LocalStack
import TestKit
import Testing

/// The page of a shared transcript in a real browser (contract §14.11, §16.3).
extension PageCluster {
    private typealias Line = TranscriptPage.Line

    @Test func aSharedTranscriptIsReadAndEachLineChecked() async throws {
        let alice = try await PageWhisperer("The ferry", admission: .link, transcriptDays: 30)
        try await alice.start()
        let hostile = #"<img src=x onerror="document.title='owned'"> https://example.org/birds."#
        for line in ["It was late in the autumn.", "\n", hostile, "goes", "is changed"] { try await alice.says(line) }
        try await alice.forges("Nobody said this.")
        try await alice.says("last")
        for line in 1...7 { try await alice.stores(line) }
        let share = try await alice.share()
        // Lines sealed with a later key are not shared: a listener gets that key, readers of the transcript do not.
        try await Browser.open { browser in
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.join()
            try await page.reaches("connected")
            try await alice.rotate()
        }
        try await alice.says("among ourselves")
        try await alice.stores(8)
        let here = "content_id = '\(await alice.content)'"
        _ = try await Cluster.database("DELETE FROM calls.transcript_lines WHERE line = 4 AND \(here)")
        _ = try await Cluster.database(
            "UPDATE calls.transcript_lines SET seq = seq + 100 WHERE line = 5 AND \(here)")
        await alice.end()

        try await Browser.open { browser in
            let page = try await TranscriptPage.open(share.link, in: browser)
            try await page.reaches("shown")
            try await page.shows([
                Line(number: 1, text: "It was late in the autumn."), Line(number: 2, text: ""),
                Line(number: 3, text: hostile),
                Line(number: 5, text: "Not readable.", isVerified: false, gap: "Missing lines: 1."),
                Line(number: 6, text: "Not signed by Alice: Nobody said this.", isVerified: false),
                Line(number: 7, text: "last"),
                Line(number: 8, text: "Not shared with you.", isVerified: false),
            ])
            try await page.says("Lines that Alice did not sign are marked: 3.")
            #expect(try await browser.text(of: "#conversation") == "The ferry")
            #expect(try await browser.text(of: "#whisperer") == "Alice")
            let year = Calendar(identifier: .gregorian).component(.year, from: Date())
            #expect(try await browser.text(of: "#started").contains("\(year)"))
            let link = "document.querySelector('#lines a')"
            #expect(try await browser.value(of: "return \(link).href").string == "https://example.org/birds")
            #expect(try await browser.value(of: "return \(link).rel").string == "noopener noreferrer")
            #expect(try await browser.count("#lines img") == 0)
            #expect(try await browser.complaints() == [])
        }
    }

    @Test func anOpenTranscriptGrowsUntilItEnds() async throws {
        let alice = try await PageWhisperer("The ferry", transcriptDays: 1)
        try await alice.start()
        for line in ["one", "two", "three"] { try await alice.says(line) }
        try await alice.stores(3)
        let here = "content_id = '\(await alice.content)'"
        // Stored later than the line behind it.
        let kept = "kept_\(newUUID().replacing("-", with: ""))"
        _ = try await Cluster.database(
            "CREATE TABLE \(kept) AS SELECT * FROM calls.transcript_lines WHERE line = 2 AND \(here)")
        _ = try await Cluster.database("DELETE FROM calls.transcript_lines WHERE line = 2 AND \(here)")
        let share = try await alice.share()
        try await Browser.open { browser in
            let page = try await TranscriptPage.open(share.link, in: browser)
            try await page.shows([
                Line(number: 1, text: "one"), Line(number: 3, text: "three", gap: "Missing lines: 1."),
            ])
            try await page.says("Each line is signed by Alice. New lines appear here by themselves.")
            _ = try await Cluster.database("INSERT INTO calls.transcript_lines SELECT * FROM \(kept)")
            try await alice.says("four")
            let grown = ["one", "two", "three", "four"].enumerated().map { Line(number: $0 + 1, text: $1) }
            try await page.shows(grown)
            #expect(try await browser.value(of: "return document.querySelector('#lines').ariaLive").string == "polite")
            // The server is away for a while.
            await Cluster.stack.kill(.calls(1))
            try await page.says("Trying again")
            #expect(try await page.state == "shown")
            try await Cluster.stack.start(.calls(1))
            try await page.says("New lines appear")
            try await waitUntil("the whisperer goes on", within: .seconds(60), every: .milliseconds(200)) {
                (try? await alice.stop()) != nil
            }
            try await waitUntil("the end is seen", within: .seconds(60)) {
                try await page.status == "Each line is signed by Alice."
            }
            #expect(try await page.lines == grown)
            _ = try await browser.traffic()
            try await browser.reload()
            try await page.shows(grown)
            #expect(try await page.status == "Each line is signed by Alice.")
            #expect(try await browser.value(of: "return document.querySelector('#lines').ariaLive").string == "off")
        }
        _ = try await Cluster.database("DROP TABLE \(kept)")
        await alice.end()
    }

    /// One answer for everything that is not there; and what was read stays on the page.
    @Test func aLinkThatIsNotWholeOrHasEndedShowsNothing() async throws {
        let alice = try await PageWhisperer(transcriptDays: 1)
        try await alice.start()
        try await alice.says("one")
        try await alice.stores(1)
        let (share, other) = (try await alice.share(), try await alice.share())
        try await Browser.open { browser in
            let address = String(share.link.split(separator: "#")[0])
            let foreign = "\(address)#\(other.link.split(separator: "#")[1])"
            let unknown = share.link.replacing(share.id, with: newUUID())
            for link in [address, "\(address)#", String(share.link.dropLast()), foreign, unknown] {
                try await browser.go(to: "about:blank")
                let page = try await TranscriptPage.open(link, in: browser)
                try await page.reaches("notfound")
                try await page.says("This link is incomplete or has expired.")
                for hidden in ["#title", "#listening", "#print"] {
                    #expect(try await browser.isHidden(hidden), "\(hidden) of \(link)")
                }
            }
            try await browser.go(to: "about:blank")
            let page = try await TranscriptPage.open(share.link, in: browser)
            try await page.shows([Line(number: 1, text: "one")])
            _ = try await Cluster.database(
                "UPDATE calls.transcript_shares SET expires_at = now() WHERE share_id = '\(share.id)'")
            try await page.reaches("notfound")
            try await page.says("no longer shared")
            #expect(try await page.lines == [Line(number: 1, text: "one")])
            try await browser.reload()
            try await page.says("This link is incomplete or has expired.")
            #expect(try await page.lines == [])
            // A share whose seal names another conversation than its keys make.
            _ = try await Cluster.database(
                "UPDATE calls.conversations SET sign_key = sha256(sign_key) WHERE conversation_id = '\(alice.id)'")
            try await browser.go(to: "about:blank")
            _ = try await TranscriptPage.open(other.link, in: browser)
            try await page.says("This link is incomplete or has expired.")
            #expect(try await browser.complaints() == [])
        }
        await alice.end()
    }

    /// Twelve answers of the server, and a question to the reader between them.
    @Test func aLongTranscriptComesInParts() async throws {
        let alice = try await PageWhisperer("A book", transcriptDays: 1)
        try await alice.start()
        try await alice.says("1")
        try await alice.stores(1)
        let share = try await alice.share()
        let rows = await alice.rows(2...5_600)
        for start in stride(from: 0, to: rows.count, by: 250) {
            let some = rows[start..<min(start + 250, rows.count)].joined(separator: ",")
            _ = try await Cluster.database(
                """
                INSERT INTO calls.transcript_lines
                    (conversation_id, content_id, line, epoch, seq, generation, nonce, ciphertext)
                VALUES \(some)
                """)
        }
        _ = try await Cluster.database(
            "UPDATE calls.transcripts SET last_line = 5600, lines = 5600 WHERE content_id = '\(await alice.content)'")
        try await alice.stop()
        try await Browser.open { browser in
            let page = try await TranscriptPage.open(share.link, in: browser)
            try await waitUntil("the reader is asked", within: .seconds(60)) {
                guard try await !browser.isHidden("#more") else { return false }
                return try await page.lines.count == 5_000
            }
            try await page.says("There are more lines.")
            try await browser.value(of: "document.querySelector('#more').focus()")
            try await browser.press("\u{E007}")
            try await waitUntil("all lines are there", within: .seconds(60)) { try await page.lines.count == 5_600 }
            try await waitUntil("nothing is left", within: .seconds(10)) { try await browser.isHidden("#more") }
            #expect(try await page.lines == (1...5_600).map { Line(number: $0, text: "\($0)") })
            #expect(try await page.status == "Each line is signed by Alice.")
        }
        await alice.end()
    }

    /// axe-core, sizes, keys, and paper.
    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func aTranscriptIsGoodToRead() async throws {
        let axe = try Axe.source()
        let alice = try await PageWhisperer("The ferry", transcriptDays: 30)
        try await alice.start()
        try await alice.types(Self.book.joined(separator: "\n") + "\n")
        try await alice.forges("The ferry will run again tomorrow.")
        try await alice.says("Nobody believed it.")
        try await alice.stores(Self.book.count + 2)
        let share = try await alice.share()
        try await alice.stop()
        try await Browser.open { browser in
            for isDark in [false, true] {
                try await browser.prefer(dark: isDark)
                try await browser.go(to: "about:blank")
                let page = try await TranscriptPage.open(share.link, in: browser)
                try await page.says("are marked: 1.")
                try await Self.examine(browser, axe, "transcript \(isDark)")
                try await Self.picture(isDark ? "transcript-dark" : "transcript-light", browser)
            }
            // On paper there are words alone, black on white, whatever the screen has.
            try await browser.resize(width: 720, height: 900)
            try await browser.print(true)
            for hidden in ["body > header", "aside", "#print"] {
                #expect(try await browser.isHidden(hidden), "\(hidden)")
            }
            #expect(
                try await browser.value(of: "return getComputedStyle(document.body).color").string == "rgb(0, 0, 0)")
            let paper = try await browser.paper()
            #expect(paper.starts(with: Array("%PDF".utf8)))
            try await Self.keep(paper, as: "transcript.pdf")
            try await Self.picture("transcript-print", browser)
            try await browser.print(false)

            try await browser.resize(width: 320, height: 568)
            #expect(try await Self.overhang(browser) == 0)
            try await Self.picture("transcript-320", browser)
            try await browser.value(of: "document.querySelector('#larger').focus()")
            for size in [150, 200, 250, 300] {
                try await browser.press(" ")
                #expect(
                    try await browser.value(of: "return document.querySelector('#size').textContent").string
                        == "\(size) %")
                #expect(try await Self.overhang(browser) == 0, "\(size) %")
            }
            try await Self.picture("transcript-320-large", browser)
            // The switches are those of the listener's page, and stay.
            try await browser.reload()
            try await TranscriptPage(browser: browser).reaches("shown")
            #expect(try await browser.value(of: "return document.documentElement.dataset.size").string == "300")
            var reached: [String] = []
            for _ in 0..<8 {
                try await browser.press("\u{E004}")
                let focus = "document.activeElement"
                let name = try await browser.value(of: "return \(focus).id || \(focus).tagName").string ?? ""
                let outline = try await browser.value(of: "return getComputedStyle(\(focus)).outlineStyle").string
                #expect(name == "BODY" || name == "HTML" || outline == "solid", "\(name) is not seen to have the focus")
                reached.append(name)
            }
            for name in ["print", "smaller", "SUMMARY", "A"] { #expect(reached.contains(name), "\(name)") }
            #expect(try await browser.complaints() == [])
        }
        await alice.end()
    }

    /// The secret of a link stays in the address bar: no request, no title, no storage and no log has it.
    @Test func theSecretOfATranscriptNeverLeavesTheBrowser() async throws {
        let alice = try await PageWhisperer(transcriptDays: 1)
        try await alice.start()
        try await alice.says("one")
        try await alice.stores(1)
        let share = try await alice.share()
        try await Browser.open { browser in
            let page = try await TranscriptPage.open(share.link, in: browser)
            try await page.shows([Line(number: 1, text: "one")])
            let spellings = [
                Base64URL.encode(share.secret), share.secret.base64, Hexadecimal.text(share.secret),
            ]
            var sent = 0
            for (method, parameters) in try await browser.traffic()
            where method.hasPrefix("Network.requestWillBeSent") {
                let request = parameters["request"]
                for text in [request?["url"], request?["postData"], request?["headers"], parameters["headers"]] {
                    guard let text = text?.text else { continue }
                    sent += 1
                    for spelling in spellings { #expect(!text.contains(spelling), "\(method)") }
                }
            }
            #expect(sent > 10)
            let kept = try await browser.value(
                of: """
                    return [document.title, document.cookie, JSON.stringify({ ...localStorage }), JSON.stringify({ ...sessionStorage })];
                    """
            ).elements.compactMap(\.string)
            #expect(kept.count == 4 && kept[0] == "Story time · Whisper" && kept[1] == "")
            for spelling in spellings { #expect(!kept.contains { $0.contains(spelling) }) }
            for process in Cluster.stack.processes {
                let log = Cluster.stack.log(of: process)
                for spelling in spellings { #expect(!log.contains(spelling), "\(process)") }
            }
            #expect(try await browser.address == share.link)
        }
        await alice.end()
    }

    @Test func aTranscriptNeedsTheAlgorithmsToo() async throws {
        try await Browser.open { browser in
            try await browser.runBeforePages(
                "SubtleCrypto.prototype.generateKey = () => Promise.reject(new DOMException('', 'NotSupportedError'));")
            let page = try await TranscriptPage.open(
                Cluster.stack.publicURL + "/transcript/\(newUUID())#AAECAwQFBgcICQoLDA0ODw", in: browser)
            try await page.reaches("unsupported")
            try await page.says("Firefox 130")
            let asked = try await browser.traffic().filter { $0.method == "Network.requestWillBeSent" }
                .compactMap { $0.parameters["request"]?["url"]?.string }
            #expect(asked.count >= 3 && !asked.contains { $0.contains("/live/") })
        }
    }

    @Test func transcriptPagesAreTheSameForEveryWellFormedID() async throws {
        let page = try await Self.ask("/transcript/\(newUUID())")
        #expect(page.status == 200 && page.headers["content-type"] == "text/html; charset=utf-8")
        #expect(page.headers["permissions-policy"] == "camera=(), microphone=(), geolocation=()")
        #expect(page.headers["content-security-policy"]?.hasPrefix("default-src 'none'; script-src 'self'") == true)
        #expect(try await Self.ask("/transcript/\(newUUID())").body == page.body)
        let tag = try #require(page.headers["etag"])
        #expect(try await Self.ask("/transcript/\(newUUID())", headers: ["If-None-Match": tag]).status == 304)
        #expect(try await Self.ask("/transcript/\(newUUID())", method: "HEAD").status == 200)
        #expect(try await Self.ask("/transcript/\(newUUID())", method: "POST").status == 405)
        for path in ["", "x", newUUID().uppercased(), newUUID().replacing("-", with: ""), "\(newUUID())/name"] {
            let answer = try await Self.ask("/transcript/\(path)")
            #expect(answer.status == 404, "\(path)")
            #expect(String(decoding: answer.body, as: UTF8.self).contains("There is no such page"), "\(path)")
        }
    }

    // MARK: -

    private static let book = """
        It was late in the autumn when the ferry stopped running, and the island went quiet.
        Nobody had told the birds.

        They came in over the harbour as they did each year, a long loose line, and settled on the roofs, on the \
        cranes, and on the rail of the boat that was not going anywhere.
        “You are early,” said the harbour master, who was not. More of this: https://example.org/birds

        In the evening the wind turned. Somebody had left the light on in the waiting room, and the timetable of the \
        summer still hung beside the door.
        """.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)

    /// Leaves bytes where pictures are left.
    private static func keep(_ bytes: [UInt8], as name: String) async throws {
        try Pictures.leave(Data(bytes), as: name)
    }
}
