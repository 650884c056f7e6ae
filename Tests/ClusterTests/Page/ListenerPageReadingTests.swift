import Contract
import Foundation
import LocalStack
import TestKit
import Testing

@testable import WhisperClient

/// How it is to read (contract §16.3): sizes, places, keys, voices, sounds.
///
/// With `PICTURES=folder` in the environment, pictures of the page are left in that folder.
extension PageCluster {
    private static let story = """
        It was late in the autumn when the ferry stopped running, and the island went quiet.
        Nobody had told the birds.

        They came in over the harbour as they did each year, a long loose line, and settled on the roofs.
        “You are early,” said the harbour master, who was not. More of this: https://example.org/birds
        """.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)

    /// At each size, on a phone and on a desk, in both schemes: nothing is cut off, and the line being typed is in sight.
    @Test func theLineBeingTypedIsInSightAtEachSize() async throws {
        let alice = try await PageWhisperer("The ferry", admission: .link)
        try await alice.start()
        try await Browser.open { browser in
            try await browser.resize(width: 320, height: 568)
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.reaches("consent")
            #expect(try await Self.overhang(browser) == 0)
            try await Self.picture("consent-320", browser)
            try await page.join()
            try await page.reaches("connected")
            try await alice.types((Self.story + ["Then the bell rang, and the oldest of"]).joined(separator: "\n"))
            try await page.shows(lines: Self.story)
            try await page.shows(live: "Then the bell rang, and the oldest of")
            try await Self.picture("320", browser)
            for size in [150, 200, 250, 300] {
                try await browser.value(of: "document.querySelector('#larger').scrollIntoView({ block: 'start' })")
                try await browser.click("#larger")
                #expect(
                    try await browser.value(of: "return document.querySelector('#size').textContent").string
                        == "\(size) %")
                #expect(try await Self.overhang(browser) == 0, "\(size) %")
                #expect(try await Self.isLiveInSight(browser), "\(size) %")
            }
            #expect(try await browser.value(of: "return document.querySelector('#larger').disabled") == .bool(true))
            // From here on the text below grows, and the reader, who is at its end, sees it grow.
            try await browser.value(of: "scrollTo(0, document.documentElement.scrollHeight)")
            let long = String(repeating: "them flew up and turned and ", count: 60)
            try await alice.types("Then \(long)")
            try await page.shows(live: "Then \(long)")
            #expect(try await Self.isLiveInSight(browser))
            #expect(
                try await browser.value(
                    of:
                        "const live = document.querySelector('#live'); return live.scrollTop + live.clientHeight >= live.scrollHeight - 2"
                ) == .bool(true))
            try await alice.types("Then they were gone.\nAnd")
            try await page.shows(live: "And")
            try await Self.picture("320-large", browser)
            // Nothing lies over the settings, wherever they stand in the window.
            try await browser.value(of: "document.querySelector('#settings').scrollIntoView({ block: 'start' })")
            try await browser.click("#settings summary")
            try await alice.types("And \(long)")
            try await page.shows(live: "And \(long)")
            for (block, order) in [("end", "top"), ("end", "bottom"), ("start", "top"), ("start", "bottom")] {
                try await browser.value(of: "document.querySelector('#order').scrollIntoView({ block: '\(block)' })")
                try await browser.click("#order")
                try await browser.click("#order option[value=\(order)]")
                #expect(
                    try await browser.value(of: "return document.querySelector('main').dataset.order").string == order)
            }
            // It stays so when the page is loaded again.
            try await browser.reload()
            try await page.reaches("consent")
            #expect(try await browser.value(of: "return document.documentElement.dataset.size").string == "300")
            #expect(try await Self.overhang(browser) == 0)
            try await Self.picture("consent-320-large", browser)
            #expect(try await browser.complaints() == [])
        }
        await alice.end()
    }

    /// A name that turns the direction of text turns itself alone, not the sentences of consent around it.
    @Test func aNameTurnsNoSentenceAround() async throws {
        let alice = try await PageWhisperer("Story\u{2069}\u{202E}", by: "Wanda\u{2069}\u{202E} ton", transcriptDays: 1)
        try await alice.start()
        try await Browser.open { browser in
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.reaches("consent")
            #expect(try await Self.turned(browser) == [])
            try await page.join(as: "Mia\u{202E}")
            try await page.reaches("waiting")
            #expect(try await page.status.hasPrefix("Waiting for Wanda ton to let you in."))
            #expect(try await Self.turned(browser) == [])
            try await browser.click("#leave")
            try await page.reaches("consent")
            #expect(try await Self.turned(browser) == [])
        }
        await alice.end()
    }

    /// Our own words on the page that run from right to left.
    private static func turned(_ browser: Browser) async throws -> [String] {
        try await browser.value(
            of: """
                const turned = [];
                const words = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
                for (let node; (node = words.nextNode()); ) {
                  if (node.parentElement.closest("bdi") || !node.parentElement.checkVisibility()) continue;
                  const place = (at) => {
                    const range = document.createRange();
                    range.setStart(node, at);
                    range.setEnd(node, at + 1);
                    return range.getBoundingClientRect();
                  };
                  for (let at = 0; at + 1 < node.length; at += 1) {
                    const [one, next] = [place(at), place(at + 1)];
                    if (one.width > 0 && next.width > 0 && one.top === next.top && next.left < one.left) {
                      turned.push(node.data);
                      break;
                    }
                  }
                }
                return turned;
                """
        ).elements.compactMap(\.string)
    }

    /// The page does not scroll away from earlier text that is being read; a button leads to the newest.
    @Test func readersStayWhereTheyAre() async throws {
        let alice = try await PageWhisperer("The ferry", admission: .link)
        try await alice.start()
        try await Browser.open { browser in
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.join()
            try await page.reaches("connected")
            var lines = (1...40).map { "Line number \($0)" }
            try await alice.types(lines.joined(separator: "\n") + "\nnow")
            try await page.shows(lines: lines)
            try await page.shows(live: "now")
            #expect(try await Self.isAtTheEnd(browser))
            #expect(try await browser.isHidden("#newest"))
            try await browser.value(of: "scrollTo(0, 0)")
            try await waitUntil("the button is there", within: .seconds(20)) { try await !browser.isHidden("#newest") }
            #expect(try await Self.isLiveInSight(browser))
            lines.append("now and then")
            try await alice.types("now and then\nsoon")
            try await page.shows(lines: lines)
            #expect(try await browser.value(of: "return scrollY") == .integer(0))
            try await browser.click("#newest")
            #expect(try await Self.isAtTheEnd(browser))
            // The other way round.
            try await browser.click("#order option[value=top]")
            try await waitUntil("the newest is on top", within: .seconds(20)) {
                try await page.lines.first == "41 now and then"
            }
            lines.append("soon after")
            try await alice.types("soon after\nlast")
            try await page.shows(live: "last")
            try await waitUntil("it is above", within: .seconds(20)) { try await page.lines.first == "42 soon after" }
            #expect(try await Self.isLiveInSight(browser))
            try await browser.value(of: "scrollTo(0, 400)")
            #expect(try await Self.isLiveInSight(browser))
            // In whole pixels: browsers scroll by no less.
            let seen = "return Math.round(document.querySelector('[data-line=\"20\"]').getBoundingClientRect().top)"
            let before = try #require(try await browser.value(of: seen).integer)
            try await alice.types("last words\n")
            try await waitUntil("it is above", within: .seconds(20)) { try await page.lines.first == "43 last words" }
            let after = try #require(try await browser.value(of: seen).integer)
            #expect(abs(after - before) <= 1)
        }
        await alice.end()
    }

    @Test func itCanBeUsedByKeyboardAlone() async throws {
        let (tab, enter) = ("\u{E004}", "\u{E007}")
        let alice = try await PageWhisperer(admission: .link)
        try await alice.start()
        try await Browser.open { browser in
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.reaches("consent")
            try await browser.press("Bob" + enter)
            try await page.reaches("connected")
            var reached: [String] = []
            for _ in 0..<20 {
                try await browser.press(tab)
                let focus = "document.activeElement"
                let name = try await browser.value(of: "return \(focus).id || \(focus).tagName").string ?? ""
                let outline = try await browser.value(of: "return getComputedStyle(\(focus)).outlineStyle").string
                #expect(name == "BODY" || name == "HTML" || outline == "solid", "\(name) is not seen to have the focus")
                reached.append(name)
                if name == "read-aloud" { try await browser.press(" ") }
            }
            for name in [
                "attention", "repeat", "slower", "larger", "theme", "order", "read-aloud", "typing-sound", "volume",
                "leave",
            ] {
                #expect(reached.contains(name), "\(name)")
            }
            #expect(try await browser.value(of: "return document.querySelector('#read-aloud').checked") == .bool(true))
            // Each keystroke is announced to people who hear the page only if they want that.
            let announced = "return ['#live', '#past'].map((name) => document.querySelector(name).ariaLive)"
            #expect(try await browser.value(of: announced) == .array([.string("off"), .string("polite")]))
            try await browser.value(of: "document.querySelector('#announce-live').focus()")
            try await browser.press(" ")
            #expect(try await browser.value(of: announced) == .array([.string("polite"), .string("polite")]))
            try await browser.value(of: "document.querySelector('#leave').focus()")
            try await browser.press(enter)
            try await page.reaches("consent")
            #expect(try await browser.value(of: "return document.activeElement.id").string == "continue")
        }
        await alice.end()
    }

    /// Each line once and in order, at most five waiting; sounds are played by the page itself.
    @Test func linesAreReadAloudAndCuesAreHeard() async throws {
        let alice = try await PageWhisperer(admission: .link)
        try await alice.start()
        try await Browser.open { browser in
            try await browser.runBeforePages(
                """
                window.spoken = [];
                window.tones = [];
                let current;
                const speech = { speak(it) { window.spoken.push(it.text); current = it; }, cancel() { current?.onend?.(); current = null; } };
                Object.defineProperty(window, "speechSynthesis", { value: speech });
                window.finish = () => { const it = current; current = null; it?.onend(); };
                window.OscillatorNode = class extends OscillatorNode {
                    constructor(context, options) { super(context, options); window.tones.push(options.frequency); }
                };
                """)
            let page = try await ListenerPage.open(alice.link(), in: browser)
            try await page.join()
            try await page.reaches("connected")
            try await alice.says("not read")
            try await page.shows(lines: ["not read"])
            try await browser.click("#read-aloud")
            for line in ["one", "  ", "two", "three", "four", "five", "six", "seven"] { try await alice.says(line) }
            try await alice.plays(.say(LiveText("a hint")!))
            try await alice.plays(.sound(.airHorn))
            try await waitUntil("the horn sounds", within: .seconds(10)) {
                try await browser.value(of: "return window.tones").elements.count == 3
            }
            for _ in 0..<8 { try await browser.value(of: "window.finish()") }
            let spoken = "return window.spoken"
            #expect(
                try await browser.value(of: spoken).elements.compactMap(\.string)
                    == ["one", "2 lines skipped.", "four", "five", "six", "seven", "a hint"])
            try await alice.says("eight")
            try await alice.says("nine")
            try await page.shows(lines: [
                "not read", "one", "  ", "two", "three", "four", "five", "six", "seven", "eight", "nine",
            ])
            try await browser.click("#read-aloud")
            try await alice.says("ten")
            try await waitUntil("ten is there", within: .seconds(10)) { try await page.lines.count == 12 }
            #expect(try await browser.value(of: spoken).elements.last?.string == "eight")
            // No sound at all when it is off, and typing is heard only if one wants it.
            try await browser.click("#volume option[value=off]")
            try await browser.click("#typing-sound")
            try await alice.plays(.sound(.bikeBell))
            try await alice.says("eleven")
            try await waitUntil("eleven is there", within: .seconds(10)) { try await page.lines.count == 13 }
            #expect(try await browser.value(of: "return window.tones").elements.count == 3)
            try await browser.click("#volume option[value=low]")
            try await alice.types("tap")
            try await waitUntil("typing is heard", within: .seconds(10)) {
                try await browser.value(of: "return window.tones").elements.count > 3
            }
            // A transcript that is offered.
            let share = SharedTranscript(
                share: UUIDText("0f8fad5b-d9cb-469f-a165-70867728950e")!, secret: Array(0..<16))
            try await alice.plays(.transcript(share))
            try await waitUntil("the transcript is offered", within: .seconds(10)) {
                try await !browser.isHidden("#transcript")
            }
            #expect(
                try await browser.value(of: "return document.querySelector('#transcript').href").string
                    == Cluster.stack.publicURL
                    + "/transcript/0f8fad5b-d9cb-469f-a165-70867728950e#AAECAwQFBgcICQoLDA0ODw")
            #expect(try await browser.complaints() == [])
        }
        await alice.end()
    }

    /// axe-core, by Deque Systems: WCAG 2.2 AA and AAA for contrast, in both schemes and at each stage.
    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func nothingSeriousKeepsPeopleOut() async throws {
        let axe = try Axe.source()
        let alice = try await PageWhisperer("The ferry", admission: .passcode("x"), transcriptDays: 1)
        try await alice.start()
        try await Browser.open { browser in
            for isDark in [false, true] {
                try await browser.prefer(dark: isDark)
                try await browser.go(to: "about:blank")
                let page = try await ListenerPage.open(alice.link(), in: browser)
                try await page.reaches("consent")
                try await Self.examine(browser, axe, "consent \(isDark)")
                try await Self.picture(isDark ? "consent-dark" : "consent-light", browser)
                try await page.join(as: "Zoë", passcode: "x")
                try await page.reaches("connected")
                try await alice.types((Self.story + ["Then the bell rang, and the oldest of"]).joined(separator: "\n"))
                try await waitUntil("the story is there", within: .seconds(20)) {
                    try await page.lines.count == Self.story.count
                }
                try await page.shows(live: "Then the bell rang, and the oldest of")
                try await Self.examine(browser, axe, "connected \(isDark)")
                try await Self.picture(isDark ? "dark" : "light", browser)
                if isDark {
                    for _ in 0..<4 { try await browser.click("#larger") }
                    try await Self.examine(browser, axe, "large")
                    try await Self.picture("large", browser)
                }
            }
            try await browser.go(to: Cluster.stack.publicURL + "/listen/nothing")
            try await Self.examine(browser, axe, "missing")
            try await Self.picture("missing", browser)
        }
        await alice.end()
    }

    // MARK: -

    /// - Parameter isEnhanced: contrast of level AAA in place of AA.
    static func examine(
        _ browser: Browser, _ axe: String, _ place: String, isEnhanced: Bool = true
    ) async throws {
        let found = try await browser.asyncValue(
            of: axe + """
                ;
                const found = await axe.run(document, { rules: { "color-contrast-enhanced": { enabled: \(isEnhanced) } } });
                return found.violations.filter(({ impact }) => impact !== "minor")
                    .map(({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ html }) => html).join(" ")}`);
                """)
        #expect(found.elements.compactMap(\.string) == [], "\(place)")
        // A value that was drawn as the name of its type tells nobody anything.
        let text = try await browser.text(of: "body")
        #expect(!text.contains("[object") && !text.contains("undefined"), "\(place): \(text)")
    }

    /// How far the page could be scrolled sideways, in CSS pixels.
    static func overhang(_ browser: Browser) async throws -> Int64? {
        try await browser.value(
            of: "return document.documentElement.scrollWidth - document.documentElement.clientWidth"
        ).integer
    }

    private static func isLiveInSight(_ browser: Browser) async throws -> Bool {
        try await browser.value(
            of: """
                const { top, bottom } = document.querySelector("#live").getBoundingClientRect();
                return top >= document.querySelector("header").offsetHeight - 1 && bottom <= innerHeight + 1;
                """) == .bool(true)
    }

    private static func isAtTheEnd(_ browser: Browser) async throws -> Bool {
        try await browser.value(of: "return document.documentElement.scrollHeight - innerHeight - scrollY < 2")
            == .bool(true)
    }

    /// Leaves a picture of the window, if somebody wants to look at it.
    static func picture(_ name: String, _ browser: Browser) async throws {
        guard Pictures.areWanted else { return }
        try Pictures.leave(try await browser.picture(beyondWindow: false), as: "\(name).png")
    }
}

/// Pictures for documents. `PICTURES` in the environment names their folder, from the root of the repository on.
enum Pictures {
    private static let folder = ProcessInfo.processInfo.environment["PICTURES"].map {
        URL(filePath: $0, directoryHint: .isDirectory, relativeTo: Axe.root)
    }

    static var areWanted: Bool { self.folder != nil }

    /// Does nothing if nobody wants them.
    static func leave(_ bytes: Data, as name: String) throws {
        if let folder = self.folder { try bytes.write(to: folder.appending(path: name)) }
    }
}

/// axe-core as a Python package brings it.
enum Axe {
    fileprivate static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()
    private static let folder = Self.root.appending(path: ".build/axe")
    private static let isInstalled = FileManager.default.fileExists(
        atPath: Self.folder.appending(path: "installed.lock").path)
    /// Continuous integration must not do without. Nor must pictures: a skipped test leaves none, and nobody is told.
    static let isExpected =
        Self.isInstalled || Pictures.areWanted || ProcessInfo.processInfo.environment["CI"] != nil

    static func source() throws -> String {
        try #require(Self.isInstalled, "axe-core is not installed: deploy/install-python-tools.sh needs PyPI")
        let files = FileManager.default.enumerator(
            at: Self.folder.appending(path: "lib"), includingPropertiesForKeys: nil)
        let script = try #require(files?.compactMap { $0 as? URL }.first { $0.lastPathComponent == "axe.min.js" })
        return try String(contentsOf: script, encoding: .utf8)
    }
}
