import Foundation
import LocalStack
import TestKit
import Testing

/// Calls between windows of `whisper app`, with media that really flow. Chromium has a microphone that beeps, and a camera.
/// One after the other: pictures that move on both sides are work, and a call rings for 45 s.
@Suite(.serialized, .cluster(.long) { $0.hasRelay = true }, .browser) struct AppCallCluster {
    /// Two people who know each other, each in the chat with the other.
    private func callers(
        isRelayed: Bool = false, _ body: (_ ann: AppWindow, _ bob: AppWindow) async throws -> Void
    ) async throws {
        try await AppWindow.two { ann, bob in
            let (annID, bobID) = (try await ann.id, try await bob.id)
            try await ann.add(bobID, as: "Bob Ross")
            try await bob.add(annID, as: "Ann")
            for page in [ann, bob] {
                if isRelayed { try await page.ask("settings_set", #"{"relayCalls":true}"#) }
                try await page.canCall()
            }
            try await body(ann, bob)
            for page in [ann, bob] { try await page.hasNoComplaints() }
        }
    }

    /// With hidden addresses no candidate of either side names one.
    @Test func theySeeAndHearEachOtherOverTheRelay() async throws {
        try await self.callers(isRelayed: true) { ann, bob in
            try await ann.browser.click("#video")
            try await ann.shows(status: "Ringing…")
            try await bob.isCalled(by: "Ann")
            // Nothing leaves before it is accepted.
            #expect(try await bob.browser.value(of: "return window.made.length").integer == 0)
            try await bob.browser.click("#accept-call")
            for page in [ann, bob] {
                try await page.talks()
                for kind in ["audio", "video"] { try await page.gets(kind) }
                try await page.sees(true)
                try await page.shows("a relay") { try await page.content(of: "#pane .status").contains("relayed") }
                let ways = try await page.ways
                #expect(!ways.isEmpty && ways.isSubset(of: ["relay", "prflx"]), "\(ways)")
            }
            try await Self.controlsWork(ann, bob)
            // In another chat the call goes on.
            try await ann.browser.press("\u{E00C}")
            try await ann.shows("the call in a bar") {
                try await ann.content(of: "#call-bar p").wholeMatch(of: #/Bob Ross · \d+:\d\d · relayed/#) != nil
            }
            try await ann.gets("audio")
            try await ann.browser.click("#to-call")
            try await ann.sees(true)
            try await bob.browser.press(alt: "KeyH")
            try await ann.shows(said: "Bob Ross hung up.")
            for page in [ann, bob] {
                #expect(try await page.browser.value(of: "return window.made.at(-1).signalingState").string == "closed")
                try await page.shows("the chat") { try await !page.browser.isHidden("#text") }
            }
            try await ann.browser.click("#call-again")
            try await bob.isCalled(by: "Ann")
            try await bob.browser.click("#accept-voice")
            try await ann.talks()
            try await bob.sees(true)
            try await ann.sees(false)
        }
    }

    /// Microphone, camera, screen and devices change the media at the other side.
    private static func controlsWork(_ ann: AppWindow, _ bob: AppWindow) async throws {
        let sound = "window.made.at(-1).getSenders().find(({ track }) => track?.kind === 'audio').track"
        try await ann.browser.press("m")
        #expect(try await ann.browser.count("#mute[aria-pressed=true]") == 1)
        #expect(try await ann.browser.value(of: "return \(sound).enabled") == .bool(false))
        try await ann.browser.press(alt: "KeyM")
        #expect(try await ann.browser.value(of: "return \(sound).enabled") == .bool(true))
        try await ann.browser.press("v")
        try await bob.sees(false)
        #expect(try await ann.browser.isHidden("#pane .own"))
        try await ann.browser.click("#screen")
        try await ann.shows("the screen") { try await ann.browser.count("#screen[aria-pressed=true]") == 1 }
        try await bob.sees(true)
        try await ann.browser.press("v")
        try await ann.shows("the camera alone") {
            try await ann.texts("#pane [aria-pressed=true]") == ["Camera"]
        }
        try await ann.browser.click("#pane summary")
        try await ann.shows("devices") { try await ann.browser.count("#pane select") == 2 }
        let before = try await ann.browser.value(of: "return \(sound).id").string
        try await ann.browser.value(
            of: """
                const list = document.querySelector("#pane select");
                list.selectedIndex = list.options.length - 1;
                list.dispatchEvent(new Event("change"));
                """)
        try await ann.shows("another microphone") {
            try await ann.browser.value(of: "return \(sound).id").string != before
        }
        try await bob.gets("audio")
    }

    @Test func eachEndHasItsSentence() async throws {
        try await self.callers { ann, bob in
            try await ann.browser.click("#phone")
            try await bob.isCalled(by: "Ann")
            // Keys that were meant for a message answer nothing.
            try await bob.browser.press("Yes \u{E007}\u{E00C}")
            try await bob.browser.click("#decline")
            try await ann.shows(said: "Bob Ross declined.")
            try await ann.browser.click("#call-again")
            try await bob.isCalled(by: "Ann")
            try await ann.browser.click("#hang-up")
            try await bob.shows(said: "You missed a call from Ann.")
            try await bob.browser.click("#call-again")
            try await ann.isCalled(by: "Bob Ross")
            try await ann.browser.click("#accept-call")
            for page in [ann, bob] {
                try await page.talks()
                try await page.gets("audio")
                try await page.sees(false)
            }
            try await Self.somebodyElseHearsThatOneIsBusy(bob)
            #expect(try await bob.content(of: "#pane .title") == "Ann")
            // The server is away: there is no call without it.
            try await ann.browser.click("#hang-up")
            try await bob.shows(said: "Ann hung up.")
            try await bob.ask("disconnect")
            try await bob.browser.click("#call-again")
            try await bob.shows(said: "You're offline. You can call when you're back.")
            try await bob.browser.click("#call-bar button:last-of-type")
            try await bob.shows("no bar") { try await bob.browser.isHidden("#call-bar") }
            // Their outcomes are in the history, also of a window that comes later.
            for (page, declined, missed) in [
                (ann, "declined", "Voice call, cancelled"), (bob, "you declined", "Missed voice call"),
            ] {
                for reloads in [false, true] {
                    if reloads { try await page.browser.reload() }
                    try await page.shows("three calls") {
                        let calls = try await page.texts("#pane .event").map { $0.split(separator: " · ")[1] }
                        return calls.count == 3 && calls[0] == "Voice call, \(declined)" && calls[1] == missed
                            && calls[2].wholeMatch(of: #/Voice call, \d+:\d\d/#) != nil
                    }
                }
            }
        }
    }

    @Test func aCallThatAnotherProgramTakesRingsNoLonger() async throws {
        try await self.callers { ann, bob in
            try await ann.browser.click("#phone")
            try await bob.isCalled(by: "Ann")
            let id = try #require(try await bob.ask("call_list").firstMatch(of: #/"callId":"([^"]+)"/#)).1
            try await bob.ask("call_answer", #"{"callId":"\#(id)","sdp":"of another program"}"#)
            try await bob.shows(said: "You took the call of Ann elsewhere.")
            #expect(try await bob.browser.count("dialog") == 0)
        }
    }

    /// Hanging up shows the chat at once. The page reads it before the core has noted the call, and gets the answer after.
    @Test func aCallThatIsNotedDuringAReadStands() async throws {
        try await self.callers { ann, bob in
            try await ann.browser.click("#phone")
            try await bob.isCalled(by: "Ann")
            try await ann.browser.value(of: AppWindow.readingBeforeTheEnd)
            try await ann.browser.click("#hang-up")
            try await ann.shows("the call") {
                try await ann.texts("#pane .event").map { $0.hasSuffix(" · Voice call, cancelled") } == [true]
            }
        }
    }

    private static func somebodyElseHearsThatOneIsBusy(_ bob: AppWindow) async throws {
        let folder = try TemporaryFolder(named: "carol")
        defer { folder.remove() }
        try await Browser.open { browser in
            let carol = try await AppWindow.open(folder, "carol", in: browser)
            try await carol.becomesSomebody()
            let (bobID, carolID) = (try await bob.whisperID, try await carol.id)
            try await bob.ask("contact_add", #"{"whisperId":"\#(carolID)","corrId":"carol"}"#)
            try await bob.shows("Carol among the contacts") { try await bob.ask("contact_list").contains(carolID) }
            try await carol.add(bobID, as: "Bob")
            try await carol.browser.click("#phone")
            try await carol.shows(said: "Bob is in another call.")
            await carol.process.kill()
        }
    }

    /// Both call at once: one call stands, and each side gives what it has asked for.
    @Test func callsThatCrossBecomeOne() async throws {
        try await self.callers { ann, bob in
            for _ in 0..<3 {
                for (page, button) in [(ann, "#phone"), (bob, "#video")] {
                    try await page.browser.value(of: AppWindow.holdingStarts)
                    try await page.browser.click(button)
                    try await page.shows("a call that is held back") {
                        try await page.browser.value(of: "return window.held.length").integer == 1
                    }
                }
                async let first: JSON = ann.browser.value(of: "window.held.pop()()")
                async let second: JSON = bob.browser.value(of: "window.held.pop()()")
                _ = try await (first, second)
                for page in [ann, bob] { try await page.talks() }
                try await ann.sees(true)
                try await bob.sees(false)
                #expect(try await ann.browser.count("dialog") + bob.browser.count("dialog") == 0)
                try await ann.browser.click("#hang-up")
                try await bob.shows(said: "Ann hung up.")
            }
        }
    }

    /// A call that rings goes on after a reload. One with media is over, and so is one whose window has gone.
    @Test func aReloadEndsWhatHasLostItsMedia() async throws {
        try await self.callers { ann, bob in
            try await ann.browser.click("#phone")
            try await bob.isCalled(by: "Ann")
            try await bob.reloads()
            try await bob.isCalled(by: "Ann")
            try await bob.browser.click("#accept-call")
            for page in [ann, bob] {
                try await page.talks()
                try await page.gets("audio")
            }
            #expect(try await bob.asksBeforeItGoes)
            try await bob.reloads()
            try await bob.shows(said: "The call was cut off.")
            try await ann.shows(said: "Bob Ross hung up.")
            #expect(try await !bob.asksBeforeItGoes)
            try await bob.browser.click("#call-again")
            try await ann.isCalled(by: "Bob Ross")
            try await bob.reloads()
            try await bob.shows(said: "The call was cut off.")
            try await ann.shows(said: "You missed a call from Bob Ross.")
            try await ann.browser.click("#call-again")
            try await bob.isCalled(by: "Ann")
            try await bob.browser.click("#accept-call")
            for page in [ann, bob] { try await page.talks() }
            // Another window of hers takes over, and says first what that costs.
            let address = try await ann.browser.address
            _ = try await ann.browser.openTab()
            try await ann.browser.keepFocus()
            try await ann.browser.go(to: address)
            try await ann.shows("a question") {
                try await ann.content(of: "main").contains("open in another window. Your call ends there.")
            }
            try await ann.browser.click("#use-here")
            try await ann.shows(said: "The call was cut off.")
            try await bob.shows(said: "Ann hung up.")
            try await bob.browser.click("#call-again")
            try await ann.isCalled(by: "Bob Ross")
            try await ann.browser.click("#accept-call")
            for page in [ann, bob] { try await page.talks() }
            try await ann.browser.go(to: "about:blank")
            try await bob.shows(said: "Ann hung up.")
            try await ann.browser.go(to: address)
            try await ann.isUsable()
        }
    }

    /// By keyboard alone, and as axe-core looks at it.
    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func callsKeepNobodyOut() async throws {
        let axe = try Axe.source()
        try await self.callers { ann, bob in
            try await bob.tabs(to: "#video")
            try await bob.browser.press("\u{E007}")
            try await bob.shows(status: "Ringing…")
            try await AppCluster.look(bob, "calling-light", axe)
            try await ann.isCalled(by: "Bob Ross")
            try await AppCluster.look(ann, "ringing-light", axe)
            try await ann.tabs(to: "#accept-call")
            try await ann.browser.press("\u{E007}")
            for page in [ann, bob] {
                try await page.talks()
                try await page.sees(true)
            }
            for (name, width, height, isDark) in [
                ("light", 1_280, 800, false), ("dark", 1_280, 800, true), ("phone", 390, 760, false),
                ("narrow", 320, 640, true),
            ] {
                try await ann.browser.prefer(dark: isDark)
                try await ann.browser.resize(width: width, height: height)
                try await AppCluster.look(ann, "call-\(name)", axe)
            }
            try await ann.browser.press("\u{E00C}")
            try await ann.shows("a bar") { try await ann.browser.count("#to-call") == 1 }
            try await AppCluster.look(ann, "call-bar-narrow", axe)
            try await ann.tabs(to: "#to-call")
            try await ann.browser.press("\u{E007}")
            try await ann.browser.value(of: "document.documentElement.dataset.size = '300'")
            try await AppCluster.look(ann, "call-large", axe)
            try await ann.tabs(to: "#pane summary")
            try await ann.browser.press("\u{E007}")
            try await ann.shows("devices") { try await ann.browser.count("#pane select") == 2 }
            try await AppCluster.look(ann, "call-devices", axe)
            try await ann.tabs(to: "#hang-up")
            try await ann.browser.press("\u{E007}")
            try await bob.shows(said: "Ann hung up.")
            try await AppCluster.look(bob, "call-over-light", axe)
            try await bob.tabs(to: "#call-again")
        }
    }
}

extension AppWindow {
    /// A fetch that keeps the beginning of a call until a test lets it go.
    static let holdingStarts = """
        window.held = [];
        window.asking ??= window.fetch;
        window.fetch = async (path, options) => {
            const isStart = path.startsWith("/rpc") && JSON.parse(options.body).method === "call_start";
            if (isStart) await new Promise((go) => window.held.push(go));
            return window.asking(path, options);
        };
        """

    /// A fetch that ends a call when the chat has been read, and gives what was read when the list is read after the call's end.
    static let readingBeforeTheEnd = """
        const [read, noted] = [Promise.withResolvers(), Promise.withResolvers()];
        let isOver = false;
        const asking = window.fetch;
        window.fetch = async (path, options) => {
            const method = path.startsWith("/rpc") && JSON.parse(options.body).method;
            if (method === "call_end") {
                await read.promise;
                isOver = true;
            }
            if (method === "chat_list" && isOver) noted.resolve();
            const answer = await asking(path, options);
            if (method === "chat_get") {
                read.resolve();
                await noted.promise;
            }
            return answer;
        };
        """

    /// From here on a test finds the connections that the page makes.
    func canCall() async throws {
        try await self.browser.runBeforePages(JoinPage.kept)
        try await self.reloads()
        try await self.shows("the chat") { try await !self.browser.isHidden("#phone") }
    }

    /// As the core has it. `id` looks at a dialog.
    var whisperID: String {
        get async throws {
            let answer = try JSON(parsing: Array(try await self.ask("identity_show").utf8))
            return try #require(answer["result"]?["whisperId"]?.string)
        }
    }

    func isCalled(by name: String) async throws {
        try await self.shows("a call of \(name)") { try await self.content(of: "dialog h2") == "\(name) is calling" }
        try await self.shows("a title without a name") {
            try await self.browser.value(of: "return document.title").string == "Somebody is calling – Whisper"
        }
    }

    func talks() async throws {
        try await self.shows("a call") {
            try await self.content(of: "#pane .status").prefixMatch(of: #/\d+:\d\d/#) != nil
        }
    }

    /// The sentence in the bar of calls.
    func shows(said text: String) async throws {
        try await self.shows(text) { try await self.content(of: "#call-bar p") == text }
    }

    /// More and more bytes of such media come.
    func gets(_ kind: String) async throws {
        let first = try await self.bytes(kind)
        try await self.shows("more \(kind)") { try await self.bytes(kind) > first }
    }

    private func bytes(_ kind: String) async throws -> Int64 {
        try await self.browser.asyncValue(
            of: """
                const reports = [...(await window.made.at(-1).getStats()).values()];
                return reports.find(({ type, kind }) => type === "inbound-rtp" && kind === "\(kind)")?.bytesReceived ?? 0;
                """
        ).integer ?? 0
    }

    /// Whether the picture of the other side is to be seen, and moves.
    func sees(_ isThere: Bool) async throws {
        try await self.shows(isThere ? "a picture" : "no picture") {
            try await self.browser.value(
                of: """
                    const video = document.querySelector("#pane .talk video:not(.own)");
                    return video.checkVisibility() && video.videoWidth > 0 && !video.paused;
                    """) == .bool(isThere)
        }
    }

    /// Types of all candidates that either side has told.
    var ways: Set<String> {
        get async throws {
            let found = try await self.browser.asyncValue(
                of: """
                    const connection = window.made.at(-1);
                    const reports = [...(await connection.getStats()).values()];
                    const lines = [connection.localDescription.sdp, connection.remoteDescription.sdp].join("\\n");
                    return [...reports.filter(({ type }) => type.endsWith("-candidate")).map(({ candidateType }) => candidateType),
                        ...[...lines.matchAll(/a=candidate:.* typ (\\w+)/g)].map(([, type]) => type)];
                    """)
            return Set(found.elements.compactMap(\.string))
        }
    }

    var asksBeforeItGoes: Bool {
        get async throws {
            try await self.browser.value(
                of: "return !dispatchEvent(new Event('beforeunload', { cancelable: true }))") == .bool(true)
        }
    }
}
