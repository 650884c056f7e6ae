import Foundation
import LocalStack
import TestKit
import Testing

/// `whisper app` in real browsers, with a real cluster.
///
/// With `PICTURES=docs/app` in the environment, pictures of the screens are left in that folder.
@Suite(.cluster(.long), .browser, .atATime(4)) struct AppCluster {
    @Test func twoPeopleMeetAndTalk() async throws {
        try await AppWindow.two { ann, bob in
            let (annID, bobID) = (try await ann.id, try await bob.id)
            // People type it as they like.
            try await ann.add(bobID.lowercased().replacingOccurrences(of: "-", with: " "), as: "Bob")
            try await bob.add(annID, as: "Ann")
            try await ann.say("Is this thing on?")
            try await bob.shows(messages: ["Is this thing on?"])
            try await ann.shows(state: "Read")
            // A typed line is text, whatever it looks like.
            let hostile = #"/help <img src=x onerror="document.title='owned'">"#
            try await bob.say(hostile)
            try await ann.shows(messages: ["> Is this thing on?", hostile])
            try await bob.shows(state: "Read")
            // A reload in the middle asks nobody, and loses nothing.
            try await ann.browser.value(of: "document.querySelector('#text').value = ''")
            try await ann.browser.type("Half a", into: "#text")
            try await ann.browser.reload()
            try await ann.browser.keepFocus()
            try await ann.shows(messages: ["> Is this thing on?", hostile])
            try await ann.shows("the draft") {
                try await ann.browser.value(of: "return document.querySelector('#text').value").string == "Half a"
            }
            try await bob.say("Still there?")
            try await ann.shows(messages: ["> Is this thing on?", hostile, "Still there?"])
            // A person who looks elsewhere has not read.
            try await bob.browser.press("\u{E00C}")
            try await bob.shows("the list alone") { try await bob.browser.count("article") == 0 }
            try await ann.say("I am.")
            try await ann.shows(state: "Delivered")
            try await bob.shows("one unread message") {
                try await bob.content(of: ".count").contains("1 unread message")
            }
            #expect(try await bob.browser.value(of: "return document.title") == .string("(1) Whisper"))
            try await bob.browser.click("[data-key='\(annID)'] button")
            try await ann.shows(state: "Read")
            for page in [ann, bob] { try await page.hasNoComplaints() }
        }
    }

    /// Answers to questions come beside the events, and may be older than they are.
    @Test func anAnswerOlderThanAnEventChangesNothingBack() async throws {
        try await AppWindow.two { ann, bob in
            let (annID, bobID) = (try await ann.id, try await bob.id)
            try await ann.add(bobID, as: "Bob")
            try await bob.add(annID, as: "Ann")
            try await bob.browser.press("\u{E00C}")
            try await bob.shows("the list alone") { try await bob.browser.count("#text") == 0 }
            try await ann.browser.value(
                of: """
                    const ask = window.fetch;
                    window.late = [];
                    window.fetch = async (path, options) => {
                        const answer = await ask(path, options);
                        const { method } = path.startsWith("/rpc") ? JSON.parse(options.body) : {};
                        if (/chat_get|message_info/.test(method)) await new Promise((go) => window.late.push({ method, go }));
                        return answer;
                    };
                    window.release = (wanted) => {
                        window.late = window.late.filter(({ method, go }) => !wanted.test(method) || go());
                    };
                    """)
            func listed(_ state: String) async throws {
                try await ann.shows("\(state) in the list") {
                    try await ann.browser.count("#list .state[aria-label='\(state)']") == 1
                }
            }
            try await ann.say("Is this thing on?")
            try await listed("Delivered")
            try await ann.shows("the message") {
                try await ann.browser.value(of: "window.release(/chat_get/)")
                return try await ann.messages == ["> Is this thing on?"]
            }
            try await bob.browser.click("[data-key='\(annID)'] button")
            try await listed("Read")
            try await ann.browser.value(of: "window.release(/./)")
            try await ann.shows(state: "Read")
        }
    }

    /// The list is an answer, too. While one is on its way no other is asked for, so that none can overtake it.
    @Test func anOlderListTakesNoNewerOnesPlace() async throws {
        try await AppWindow.two { ann, bob in
            let (annID, bobID) = (try await ann.id, try await bob.id)
            try await ann.add(bobID, as: "Bob")
            try await bob.add(annID, as: "Ann")
            try await ann.browser.value(
                of: """
                    const ask = window.fetch;
                    [window.lists, window.late] = [0, []];
                    window.fetch = async (path, options) => {
                        const answer = await ask(path, options);
                        if (!path.startsWith("/rpc") || JSON.parse(options.body).method !== "chat_list") return answer;
                        window.lists += 1;
                        await new Promise((go) => window.late.push(go));
                        return answer;
                    };
                    """)
            try await bob.say("One")
            try await ann.shows("a late list") {
                try await ann.browser.value(of: "return window.lists").integer == 1
            }
            try await bob.say("Two")
            try await ann.shows(messages: ["One", "Two"])
            // The page pauses for 100 ms between an event and its question.
            let asked = try await ann.browser.asyncValue(
                of: "await new Promise((done) => setTimeout(done, 1_000)); return window.lists;")
            #expect(asked.integer == 1)
            try await ann.shows("the newer list") {
                try await ann.browser.value(of: "window.late.splice(0).forEach((go) => go())")
                return try await ann.content(of: "#list .chats:not([hidden]) .last").contains("Two")
            }
        }
    }

    @Test func aMessageThatDisappearsLeavesBothPages() async throws {
        try await AppWindow.two { ann, bob in
            let (annID, bobID) = (try await ann.id, try await bob.id)
            try await ann.add(bobID, as: "Bob")
            try await bob.add(annID, as: "Ann")
            try await ann.say("This stays.")
            try await bob.shows(messages: ["This stays."])
            let answer = try await ann.browser.asyncValue(
                of: """
                    const headers = { "Content-Type": "application/json", "Whisper-Key": localStorage.getItem("whisper.key") };
                    const params = { chat: "\(bobID)", seconds: 30 };
                    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "chat_timer", params });
                    return (await fetch("/rpc", { method: "POST", headers, body })).text();
                    """)
            #expect(answer.string?.contains("result") == true)
            try await ann.say("This goes.")
            try await bob.shows(messages: ["This stays.", "This goes."])
            for page in [ann, bob] {
                try await page.shows("one message", within: .seconds(120)) {
                    try await page.messages.map { $0.replacing("> ", with: "") } == ["This stays."]
                }
                try await page.shows("no word of it") { try await !page.browser.text(of: "body").contains("This goes") }
            }
        }
    }

    @Test func theWordsAreCheckedBeforeThereIsAnIdentityAndBringItBack() async throws {
        let folder = try TemporaryFolder(named: "app")
        defer { folder.remove() }
        try await Browser.open { browser in
            let ann = try await AppWindow.open(folder, "ann", in: browser)
            try await browser.click("#new")
            try await ann.shows("twelve words") { try await browser.count(".words li") == 12 }
            let words = try await ann.texts(".words li span")
            try await browser.click("#written")
            for place in try await ann.askedPlaces() {
                try await browser.type("zebra", into: "[data-place='\(place)']")
            }
            try await browser.click("#go")
            try await ann.shows("a fault") { try await ann.content(of: "main").contains("That isn't the word.") }
            try await browser.click("#again")
            #expect(try await ann.texts(".words li span") == words)
            try await browser.click("#written")
            for place in try await ann.askedPlaces() {
                try await browser.type(words[place - 1].uppercased(), into: "[data-place='\(place)']")
            }
            try await browser.click("#go")
            try await ann.protects(with: nil)
            try await ann.isUsable()
            let id = try await ann.id
            // They are nowhere on the disk, and other commands find the key of the store.
            let home = folder.path + "/home/ann"
            #expect(FileManager.default.fileExists(atPath: home + "/key"))
            #expect(!FileManager.default.fileExists(atPath: home + "/phrase"))
            #expect(await ann.process.interrupt())
            #expect(try await Typist(folder, "ann").types("id").contains(id))

            let again = try await AppWindow.open(folder, "again", in: browser)
            try await browser.click("#restore")
            let wrong = words.dropLast() + ["zebrra"]
            for (place, word) in wrong.enumerated() {
                try await browser.type(word, into: "[data-place='\(place + 1)']")
            }
            try await browser.click("#go")
            try await again.shows("the wrong word") {
                try await again.content(of: ".field:has([data-place='12']) .fault").contains("isn't one of the words")
            }
            try await browser.type(words[11], into: "[data-place='12']")
            try await browser.click("#go")
            try await again.protects(with: nil)
            try await again.isUsable()
            #expect(try await again.id == id)
            await again.process.kill()
        }
    }

    @Test func thePageAsksForAServerAndLooksWhetherOneAnswers() async throws {
        let folder = try TemporaryFolder(named: "app")
        defer { folder.remove() }
        try await Browser.open { browser in
            let ann = try await AppWindow.open(folder, "ann", in: browser, server: nil)
            try await browser.type("ws://127.0.0.1:1", into: "input")
            try await browser.click("#go")
            try await ann.shows("silence") {
                try await ann.content(of: "main").contains("No Whisper server answers there.")
            }
            try await browser.type(Typist.server, into: "input")
            try await browser.click("#go")
            try await ann.becomesSomebody()
            await ann.process.kill()
        }
    }

    /// A second command takes the daemon that runs. The launch token stands in a file of its owner alone, and nowhere else.
    @Test func theCommandFindsItsDaemonAndEndsIt() async throws {
        let folder = try TemporaryFolder(named: "app")
        defer { folder.remove() }
        let words = ["app", "--no-browser", "--server", Typist.server]
        let process = try await TerminalProcess.start(folder, "ann", words)
        let first = try #require(try await process.prints("Open this file").split(separator: " ").last)
        let said = try await Typist(folder, "ann").types("app", "--no-browser")
        let second = try #require(said.split(whereSeparator: \.isWhitespace).last)
        #expect(first != second)
        for file in [String(first), String(second)] {
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            let page = try String(contentsOfFile: file, encoding: .utf8)
            let token = try #require(page.firstMatch(of: #/#([0-9a-f]{64})"/#).map { String($0.1) })
            #expect(!said.contains(token) && !process.lines.contains { $0.contains(token) })
            for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") where Int(name) != nil {
                let line = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") ?? Data()
                #expect(!String(decoding: line, as: UTF8.self).contains(token))
            }
        }
        _ = try await Typist(folder, "ann").types("app", "--stop")
        #expect(await process.end())
        let left = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/whisper")
        #expect(left == [])
    }

    @Test func oneWindowIsLive() async throws {
        let folder = try TemporaryFolder(named: "app")
        defer { folder.remove() }
        try await Browser.open { browser in
            let ann = try await AppWindow.open(folder, "ann", in: browser)
            try await ann.becomesSomebody()
            let (address, first) = (try await browser.address, try await browser.tab)
            #expect(!address.contains("#"))
            let second = try await browser.openTab()
            try await browser.go(to: address)
            try await ann.shows("a question") {
                try await ann.content(of: "main").contains("already open in another window")
            }
            try await browser.click("#use-here")
            try await ann.isUsable()
            try await browser.turn(to: first)
            try await ann.shows("the end") { try await ann.content(of: "main").contains("open in another window now") }
            try await browser.click("#use-here")
            try await ann.isUsable()
            try await browser.turn(to: second)
            try await ann.shows("the end") { try await ann.content(of: "main").contains("open in another window now") }
            // The daemon goes: the page does not look alive.
            try await browser.turn(to: first)
            await ann.process.kill()
            try await ann.shows("sentence 10") { try await ann.content(of: ".banner").contains("isn't running") }
        }
    }

    /// Under the policy no text becomes markup, and nothing plants a worker.
    @Test func thePolicyHolds() async throws {
        let folder = try TemporaryFolder(named: "app")
        defer { folder.remove() }
        try await Browser.open { browser in
            let ann = try await AppWindow.open(folder, "ann", in: browser)
            try await ann.shows("a page") { try await browser.count("#new") == 1 }
            let results = try await browser.asyncValue(
                of: """
                    const attempts = [
                        () => { document.body.innerHTML = "<p>"; }, () => navigator.serviceWorker.register("/a/worker.js"),
                        () => new Worker("/a/worker.js"), () => fetch("http://127.0.0.1:\(Cluster.stack.ports.public)/"),
                    ];
                    return Promise.all(attempts.map(async (attempt) => {
                        try { await attempt(); return "done"; } catch { return "refused"; }
                    }));
                    """
            ).elements
            #expect(results == [.string("refused"), .string("refused"), .string("refused"), .string("refused")])
            await ann.process.kill()
        }
    }

    /// A message can be answered, changed, taken back and found.
    @Test func aMessageIsAnsweredChangedAndFound() async throws {
        try await AppWindow.two { ann, bob in
            let bobID = try await bob.id
            try await ann.add(bobID, as: "Bob")
            // Bob does not know her yet, and she learns nothing of his reading.
            try await ann.say("Tea at four?")
            try await bob.browser.click("#list section button")
            try await bob.shows(messages: ["Tea at four?"])
            #expect(try await bob.browser.isHidden("#text"))
            try await ann.shows(state: "Delivered")
            try await bob.browser.click("#accept")
            try await bob.shows("the composer") { try await !bob.browser.isHidden("#text") }
            try await ann.shows(state: "Read")
            // By keyboard alone: to the message, answer it.
            try await bob.browser.value(of: "document.querySelector('article').focus()")
            try await bob.browser.press("r")
            try await bob.browser.press("At five.\u{E007}")
            try await ann.shows("the answer") {
                try await ann.content(of: "article[data-direction=in] .quote").contains("Tea at four?")
            }
            try await ann.browser.value(of: "document.querySelector('article[data-direction=in]').focus()")
            try await ann.browser.press("+")
            try await ann.browser.click("dialog .reaction")
            try await bob.shows("the reaction") { try await bob.browser.count(".reactions") == 1 }
            try await ann.shows("the reaction") { try await ann.browser.count(".reactions") == 1 }
            // Up in an empty composer edits the latest of ours.
            try await ann.browser.click("#text")
            try await ann.browser.press("\u{E013}")
            try await ann.browser.type("Tea at six?", into: "#text")
            try await ann.browser.press("\u{E007}")
            try await bob.shows(messages: ["Tea at six?", "> At five."])
            #expect(try await bob.content(of: "article footer").contains("edited"))
            // Found, opened where it is, and deleted.
            try await ann.browser.type("six", into: "[type=search]")
            try await ann.shows("what was found") { try await ann.browser.count("#found button") == 1 }
            try await ann.browser.click("#found button")
            try await ann.shows("the place") { try await ann.content(of: "article[data-found] .text") == "Tea at six?" }
            try await ann.browser.value(of: "document.querySelector('article[data-found]').focus()")
            try await ann.browser.press("\u{E017}")
            try await bob.shows(messages: ["Deleted", "> At five."])
            #expect(try await !bob.browser.text(of: "body").contains("Tea"))
            try await Self.leadsFarUp(ann, bob, bobID)
            for page in [ann, bob] { try await page.hasNoComplaints() }
        }
    }

    /// A quote leads to a message that is not among those that are here, and says so when it is nowhere.
    private static func leadsFarUp(_ ann: AppWindow, _ bob: AppWindow, _ bobID: String) async throws {
        let found = try await ann.ask("chat_get", #"{"chat":"\#(bobID)"}"#)
        let messages = try JSON(parsing: Array(found.utf8))["result"]?["messages"]?.elements ?? []
        let answer = try #require(messages.first { $0["text"]?.string == "At five." })
        let (id, number) = (answer["messageId"]?.string ?? "", answer["number"]?.integer ?? 0)
        for number in 1...120 { try await ann.ask("message_send", #"{"to":"\#(bobID)","text":"Line \#(number)"}"#) }
        try await ann.ask(
            "message_send", #"{"to":"\#(bobID)","text":"That.","replyTo":"\#(id)","replyFrom":"\#(bobID)"}"#)
        func begins(without text: String) async throws {
            try await bob.browser.reload()
            try await bob.browser.keepFocus()
            try await bob.shows("the last") { try await bob.messages.last == "That." }
            try #require(try await !bob.messages.contains(text))
        }
        try await bob.shows("the last") { try await bob.messages.last == "That." }
        try await begins(without: "> At five.")
        try await bob.browser.value(of: "document.querySelector('article .quote').click()")
        try await bob.shows("the answered message") {
            try await bob.browser.value(of: "return document.activeElement.querySelector('.text')?.textContent").string
                == "At five."
        }
        #expect(try await !bob.messages.contains("That."))
        try await bob.ask("chat_clear", #"{"chat":"\#(try await ann.id)","upTo":\#(number)}"#)
        try await begins(without: "> At five.")
        try await bob.browser.value(of: "document.querySelector('article .quote').click()")
        try await bob.shows("that it is nowhere") {
            try await bob.content(of: "#pane .fault") == "That message isn't here any more."
        }
    }

    /// A group is made, written to, looked at and left. Its newest member reads nothing before somebody has seen them.
    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func aGroupIsMadeWrittenToAndLeft() async throws {
        let axe = try Axe.source()
        try await AppWindow.two { ann, bob in
            let (annID, bobID) = (try await ann.id, try await bob.id)
            try await ann.add(bobID, as: "Bob Ross")
            try await bob.add(annID, as: "Ann")
            try await ann.browser.click("#add")
            try await ann.browser.click("#new-group")
            try await ann.browser.type("Hiking", into: "dialog [name=title]")
            try await ann.browser.click("dialog [value='\(bobID)']")
            try await Self.look(ann, "new-group-light", axe)
            try await ann.browser.click("dialog form .main")
            try await ann.shows("the group") { try await ann.content(of: "#pane .who") == "HikingGroup of 2" }
            try await ann.say("Who comes along?")
            let row = "[data-key^='grp-'] button"
            // Its row moves from the contacts to the chats with the first message.
            try await bob.shows("a message in the group") { try await bob.browser.count(row + " .count") == 1 }
            try await bob.browser.click(row)
            try await bob.shows(messages: ["Who comes along?"])
            try await bob.say("I do.")
            try await ann.shows(messages: ["> Who comes along?", "I do."])
            #expect(try await ann.content(of: "article[data-direction=in] .author") == "Bob Ross:")
            try await ann.shows(state: "Read")
            try await ann.browser.value(of: "document.querySelector('article[data-direction=out]').focus()")
            try await ann.browser.press("i")
            try await ann.shows("how it stands for each") {
                try await ann.texts("dialog dl:last-of-type div") == ["Bob RossRead"]
            }
            try await ann.browser.press("\u{E00C}")
            try await ann.browser.click("#pane .who")
            try await ann.shows("who is in it") { try await Set(ann.texts(".members bdi")) == ["You", "Bob Ross"] }
            try await Self.look(ann, "group-light", axe)
            try await ann.browser.press("\u{E00C}")
            // A group is left after a second word, and what was said stays.
            try await bob.browser.click("#pane .who")
            try await bob.browser.click("#leave-group")
            try await bob.browser.click("dialog .loud")
            try await ann.shows("one member") { try await ann.content(of: "#pane .who") == "HikingGroup, only you" }
            try await bob.browser.click(row)
            try await bob.shows("the end") { try await bob.content(of: "#pane .bar").contains("aren't in this group") }
            #expect(try await bob.browser.isHidden("#text"))
            try await bob.shows(messages: ["Who comes along?", "> I do."])
            for page in [ann, bob] { try await page.hasNoComplaints() }
        }
    }

    /// axe-core finds nothing on any screen, in both schemes, on a phone and at 300 %. Nothing is cut off.
    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func nothingKeepsPeopleOut() async throws {
        let axe = try Axe.source()
        try await AppWindow.two { ann, bob in
            try await ann.add(try await bob.id, as: "Bob Ross")
            try await bob.add(try await ann.id, as: "Ann")
            for (index, text) in Self.talk.enumerated() {
                let (from, to) = index.isMultiple(of: 2) ? (ann, bob) : (bob, ann)
                try await from.say(text)
                try await to.shows("\(text)") { try await to.messages.last == text }
            }
            try await ann.shows("the last state") { try await ann.texts(".outcome").last == "Read" }
            for (name, width, height, isDark) in [
                ("light", 1_280, 800, false), ("dark", 1_280, 800, true), ("phone", 390, 760, false),
                ("narrow", 320, 640, true),
            ] {
                try await ann.browser.prefer(dark: isDark)
                try await ann.browser.resize(width: width, height: height)
                try await Self.look(ann, "chat-\(name)", axe)
                try await ann.browser.click("#pane .who")
                try await Self.look(ann, "person-\(name)", axe)
                try await ann.browser.click("#report")
                try await Self.look(ann, "report-\(name)", axe)
                try await ann.browser.value(of: "document.querySelectorAll('dialog').forEach((each) => each.close())")
                try await ann.browser.click(width < 640 ? ".back" : "#list header [aria-label=Menu]")
                try await Self.look(ann, width < 640 ? "list-\(name)" : "settings-\(name)", axe)
                if width < 640 {
                    try await ann.browser.click("#list .chats button")
                } else {
                    for (place, picture) in [("#add", "add"), ("[aria-label='My Whisper ID']", "code")] {
                        try await ann.browser.press("\u{E00C}")
                        try await ann.browser.click("#list header \(place)")
                        try await ann.shows(picture) { try await ann.browser.count("dialog :is(form, .qr)") == 1 }
                        try await Self.look(ann, "\(picture)-\(name)", axe)
                    }
                    try await ann.browser.press("\u{E00C}")
                }
            }
            try await ann.browser.value(of: "document.documentElement.dataset.size = '300'")
            try await Self.look(ann, "chat-large", axe)
        }
    }

    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func theFirstRunKeepsNobodyOut() async throws {
        let axe = try Axe.source()
        let folder = try TemporaryFolder(named: "app")
        defer { folder.remove() }
        try await Browser.open { browser in
            let ann = try await AppWindow.open(folder, "ann", in: browser)
            for (name, width, height, isDark) in [
                ("light", 1_280, 800, false), ("dark", 1_280, 800, true), ("phone", 390, 760, false),
                ("narrow", 320, 640, true),
            ] {
                try await browser.prefer(dark: isDark)
                try await browser.resize(width: width, height: height)
                try await ann.shows("a beginning") { try await browser.count("#new") == 1 }
                try await Self.look(ann, "welcome-\(name)", axe)
                try await browser.click("#restore")
                try await Self.look(ann, "restore-\(name)", axe)
                try await browser.reload()
                try await browser.click("#new")
                try await browser.click("#show")
                try await Self.look(ann, "words-\(name)", axe)
                try await browser.click("#written")
                try await Self.look(ann, "check-\(name)", axe)
                try await browser.reload()
            }
            await ann.process.kill()
        }
    }

    private static let talk = [
        "The ferry leaves at nine. Shall we meet at the pier, or at the café with the blue door?",
        "At the café. I'll bring the map, and something to eat.",
        "Good. Don't forget your words: on paper, not in a photo!",
        "They're in the tin with the tea.",
        "Then see you tomorrow.",
    ]

    /// The pictures of the documents.
    private static let pictures = [
        "chat-light", "chat-dark", "chat-phone", "list-phone", "words-light", "words-dark", "words-phone",
        "settings-dark", "group-light", "live-light", "live-dark", "live-phone", "listen-light", "listen-dark",
        "listen-phone", "files-light", "files-dark", "files-narrow", "call-light", "call-dark", "call-phone",
        "ringing-light", "person-light", "code-light", "room-light",
    ]

    /// Looks at a screen as axe-core does, and leaves a picture if somebody wants one.
    static func look(_ page: AppWindow, _ name: String, _ axe: String) async throws {
        try await PageCluster.examine(page.browser, axe, name)
        let overhang = try await PageCluster.overhang(page.browser) ?? 0
        #expect(overhang <= 0, "\(name) is \(overhang) px too wide")
        if Self.pictures.contains(name) { try await PageCluster.picture(name, page.browser) }
    }
}
