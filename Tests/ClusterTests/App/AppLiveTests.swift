import Foundation
import LocalStack
import TestKit
import Testing

extension AppCluster {
    /// One whispers in a window. Another window and a guest's page see each key, until they are sent away.
    @Test func whatOneTypesIsSeenKeyByKey() async throws {
        try await AppWindow.two { ann, bob in
            let link = try await ann.whispers("Story time", as: "Ann Ross")
            try await bob.looks(at: link)
            try await bob.listens(as: "Bob")
            try await bob.shows(status: "Waiting for Ann Ross to let you in.")
            try await ann.letsIn("Bob")
            try await bob.shows(status: "Ann Ross is live")
            try await Browser.open { browser in
                let zoe = try await ListenerPage.open(link, in: browser)
                try await zoe.join(as: "Zoë 🦉")
                try await ann.letsIn("Zoë 🦉")
                try await zoe.reaches("connected")
                try await ann.shows(status: "You are live, 2 listeners")
                for (keys, text) in [("Is", "Is"), (" th", "Is th"), ("is on?", "Is this on?")] {
                    try await ann.browser.press(keys)
                    try await bob.shows(now: text)
                    try await zoe.shows(live: text)
                }
                try await ann.browser.press("\u{E007}And")
                for page in [ann, bob] { try await page.shows(said: ["Is this on?"]) }
                try await zoe.shows(lines: ["Is this on?"])
                try await bob.shows(now: "And")
                try await ann.shows(typed: "And")
                // Either side is loaded anew, and goes on where it was.
                try await bob.reloads()
                try await bob.shows(now: "And")
                try await bob.shows(said: ["Is this on?"])
                try await ann.reloads()
                try await ann.shows(status: "You are live, 2 listeners")
                try await ann.shows(said: ["Is this on?"])
                try await ann.shows(typed: "And")
                try await ann.browser.press(" now")
                try await bob.shows(now: "And now")
                try await zoe.shows(live: "And now")
                // A chat is one press away, and the row leads back.
                try await ann.browser.press("\u{E00C}")
                try await ann.shows("the list") { try await ann.content(of: "#live") == "Live: you are live" }
                try await ann.browser.click("#live")
                try await ann.shows(typed: "And now")

                try await Self.hostileTextStaysText(ann, bob)
                try await Self.removedPeopleReadNoMore(ann, bob, zoe)
                try await ann.browser.click("#end")
                try await zoe.reaches("ended")
                try await ann.shows("the conversation in the list") {
                    try await ann.texts("#pane .wide") == ["Story time"]
                }
                for page in [ann, bob] { try await page.hasNoComplaints() }
            }
        }
    }

    /// Text that wants to be more than text.
    private static let hostile = #"<img src=x onerror="document.title='owned'">"# + "\u{202E}live"

    private static func hostileTextStaysText(_ ann: AppWindow, _ bob: AppWindow) async throws {
        try await ann.browser.value(
            of: """
                const area = document.querySelector("#live-text");
                area.value = \(JSON.string(Self.hostile + "\n").text);
                area.dispatchEvent(new Event("input"));
                """)
        for page in [ann, bob] {
            try await page.shows(said: ["Is this on?", Self.hostile])
            #expect(try await page.browser.count("#pane img") == 0)
            #expect(try await page.browser.value(of: "return document.title").string == "Whisper")
        }
        try await bob.browser.click("[data-want=slower]")
        try await ann.shows("a wish") {
            try await ann.texts(".callers p") == ["Bob asks you to go slower"]
        }
    }

    private static func removedPeopleReadNoMore(
        _ ann: AppWindow, _ bob: AppWindow, _ zoe: ListenerPage
    ) async throws {
        try await ann.browser.click("#pane summary")
        try await ann.browser.click("#pane .members [aria-label='Remove Bob']")
        try await ann.browser.click("#pane .members .loud")
        try await bob.shows(status: "Ann Ross removed you.")
        try await ann.shows(status: "You are live, 1 listener")
        try await ann.browser.press("Between us\u{E007}")
        try await zoe.shows(lines: ["Is this on?", Self.hostile, "Between us"])
        try await bob.shows(said: ["Is this on?", Self.hostile])
        #expect(try await !bob.browser.text(of: "body").contains("Between"))
        try await bob.reloads()
        try await bob.shows(status: "Ann Ross removed you.")
        try await bob.shows(said: ["Is this on?", Self.hostile])
    }

    /// A window that has gone for good ends its stream. A listener who comes back need not ask again.
    @Test func aClosedWindowEndsItsStream() async throws {
        try await AppWindow.two { ann, bob in
            let link = try await ann.whispers("Story time", as: "Ann")
            try await bob.looks(at: link)
            try await bob.listens(as: "Bob")
            try await ann.letsIn("Bob")
            try await bob.shows(status: "Ann is live")
            try await bob.browser.click("#end")
            try await bob.shows("what was heard") { try await bob.texts("#pane .wide") == ["Story time, by Ann"] }
            try await bob.browser.click("#pane .wide")
            #expect(
                try await bob.browser.value(
                    of: "return document.querySelector('#pane form:has(#listen) [name=name]').value"
                ).string == "Bob")
            try await bob.browser.click("#listen")
            try await bob.shows(status: "Ann is live")
            try await ann.browser.go(to: "about:blank")
            try await bob.shows(status: "Ann has ended. If it begins again, it goes on here.")
        }
    }

    /// By keyboard alone, and as axe-core looks at it, in both schemes, on a phone and at 320 px.
    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func liveConversationsKeepNobodyOut() async throws {
        let axe = try Axe.source()
        try await AppWindow.two { ann, bob in
            try await ann.tabs(to: "#live")
            try await ann.browser.press("\u{E007}")
            try await ann.tabs(to: "[name=title]")
            try await ann.browser.press("Story time")
            try await ann.tabs(to: "[name=name]")
            try await ann.browser.press("Ann Ross")
            try await Self.look(ann, "live-start-light", axe)
            try await ann.browser.press("\u{E007}")
            try await ann.shows(status: "You are live, no listeners")
            try await ann.tabs(to: "#invite")
            try await ann.browser.press("\u{E007}")
            let link =
                try await ann.browser.value(of: "return document.querySelector('#invitation').value").string ?? ""
            try await Self.look(ann, "invite-light", axe)
            try await ann.browser.press("\u{E00C}")
            try await bob.looks(at: link)
            try await Self.look(bob, "listen-start-light", axe)
            try await bob.listens(as: "Bob")
            try await ann.shows("who asks") { try await ann.browser.count(".callers li") == 1 }
            try await Self.look(ann, "live-asks-light", axe)
            try await ann.tabs(to: ".callers .main")
            try await ann.browser.press("\u{E007}")
            try await bob.shows(status: "Ann Ross is live")
            try await ann.tabs(to: "#live-text")
            for line in Self.story { try await ann.browser.press(line + "\u{E007}") }
            try await ann.browser.press("and the ligh")
            try await bob.shows(now: "and the ligh")
            try await bob.shows(said: Self.story)
            try await ann.shows(said: Self.story)
            for (name, width, height, isDark) in [
                ("light", 1_280, 800, false), ("dark", 1_280, 800, true), ("phone", 390, 760, false),
                ("narrow", 320, 640, true),
            ] {
                for (page, what) in [(ann, "live"), (bob, "listen")] {
                    try await page.browser.prefer(dark: isDark)
                    try await page.browser.resize(width: width, height: height)
                    try await Self.look(page, "\(what)-\(name)", axe)
                }
                #expect(try await bob.isLatestInSight, "\(name)")
            }
            for _ in 0..<3 { try await bob.browser.click("#live-size") }
            try await Self.look(bob, "listen-large", axe)
            #expect(try await bob.isLatestInSight)
            try await bob.reloads()
            try await bob.shows("the same size") { try await bob.browser.count("[data-live-size='300']") == 1 }
        }
    }

    private static let story = [
        "The ferry had left the pier before anybody noticed the dog.",
        "It sat at the bow, as if it had paid for the crossing,",
        "and looked at the far shore. Nobody knew whose it was.",
        "Then the fog came down,",
    ]
}

extension AppWindow {
    /// Begins to whisper. - Returns: the link for listeners.
    func whispers(_ title: String, as name: String) async throws -> String {
        try await self.browser.click("#live")
        try await self.shows("a beginning") { try await self.browser.count("[name=title]") == 1 }
        try await self.browser.type(title, into: "[name=title]")
        try await self.browser.type(name, into: "[name=name]")
        try await self.browser.click("#begin")
        try await self.shows(status: "You are live, no listeners")
        try await self.browser.click("#invite")
        let link = try await self.browser.value(of: "return document.querySelector('#invitation').value").string
        try await self.browser.press("\u{E00C}")
        return link ?? ""
    }

    func looks(at link: String) async throws {
        try await self.browser.click("#live")
        try await self.shows("a beginning") { try await self.browser.count("[name=link]") == 1 }
        try await self.browser.type(link, into: "[name=link]")
        try await self.browser.click("#look")
        try await self.shows("whose it is") { try await self.browser.count("#listen") == 1 }
    }

    func listens(as name: String) async throws {
        try await self.browser.type(name, into: "form:has(#listen) [name=name]")
        try await self.browser.click("#listen")
    }

    func letsIn(_ name: String) async throws {
        try await self.shows("\(name) at the door") { try await self.texts(".callers bdi").contains(name) }
        try await self.browser.click(".callers .main")
    }

    func reloads() async throws {
        try await self.browser.reload()
        try await self.browser.keepFocus()
    }

    /// Goes on by the Tab key until the focus is there.
    func tabs(to selector: String) async throws {
        try await self.shows("the focus at \(selector)") {
            let isThere = try await self.browser.value(
                of: "return document.activeElement.matches(\(JSON.string(selector).text))")
            if isThere != .bool(true) { try await self.browser.press("\u{E004}") }
            return isThere == .bool(true)
        }
    }

    /// The text in the whisperer's field.
    func shows(typed text: String) async throws {
        try await self.shows("\(text) in the field") {
            try await self.browser.value(of: "return document.querySelector('#live-text')?.value").string == text
        }
    }

    /// Whether the newest text stands in the part of the page that is to be seen.
    var isLatestInSight: Bool {
        get async throws {
            try await self.browser.value(
                of: """
                    const { top, bottom } = document.querySelector(".now").getBoundingClientRect();
                    const box = document.querySelector(".live").getBoundingClientRect();
                    return top < box.bottom && bottom <= box.bottom + 1;
                    """) == .bool(true)
        }
    }

    func shows(status: String) async throws {
        try await self.shows("status \(status)") { try await self.content(of: "#pane .status") == status }
    }

    func shows(now text: String) async throws {
        try await self.shows("live text \(text)") { try await self.content(of: ".now") == text }
    }

    func shows(said lines: [String]) async throws {
        try await self.shows("lines \(lines)") { try await self.texts(".said p") == lines }
    }
}
