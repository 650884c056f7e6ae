import Foundation
import LocalStack
import TestKit
import Testing

/// Codes that a camera reads, and notices of the system.
extension AppCluster {
    /// Ann's screen is held before Bob, and the other way round.
    @Test func peopleAddEachOtherByCodesOnTheirScreens() async throws {
        try await AppWindow.two { ann, bob in
            let (annID, bobID) = (try await ann.id, try await bob.id)
            let code = try await ann.showsItsCode()
            try await bob.browser.click("#add")
            try await bob.browser.click("#scan")
            try await bob.shows("the camera") { try await bob.browser.count("dialog video.scan") == 1 }
            // A picture without a code, then our own, then hers.
            try await bob.hold("new Blob([])")
            try await bob.shows("no code") {
                try await bob.content(of: "dialog:last-of-type .fault").contains("no code in this picture")
            }
            try await bob.hold(AppWindow.blob(code))
            try await bob.shows("the chat with her") { try await bob.browser.count("#text") == 1 }
            #expect(try await bob.browser.count("dialog") == 0)
            // A picture may have come by any way.
            #expect(try await bob.browser.count("[data-key='\(annID)'] .mark") == 0)
            #expect(try await bob.ask("contact_list").contains(#""verification":"linked""#))
            try await bob.say("Off your screen")

            // She accepts, and looks at his code with her camera.
            try await ann.shows("a request") { try await ann.browser.count("[data-key='\(bobID)']") == 1 }
            try await ann.browser.click("[data-key='\(bobID)'] button")
            try await ann.browser.click("#accept")
            try await ann.browser.click("#pane .who")
            try await ann.seesWithItsCamera(code)
            try await ann.browser.click("#scan")
            try await ann.shows("her own code refused") {
                try await ann.content(of: "dialog:last-of-type .fault") == "This is your own."
            }
            try await ann.seesWithItsCamera(try await bob.showsItsCode())
            try await ann.shows("who it is") { try await ann.content(of: "#polite").contains("This is really") }
            #expect(try await ann.browser.count("dialog") == 1)
            #expect(try await ann.browser.count("[data-key='\(bobID)'] .mark") == 1)
            // The camera is off when its picture has gone.
            let states = try await ann.browser.value(of: "return window.cameras.map(({ readyState }) => readyState)")
            #expect(states.elements.allSatisfy { $0.string == "ended" } && !states.elements.isEmpty)
            for page in [ann, bob] { try await page.hasNoComplaints() }
        }
    }

    @Test func aLinkAddsAPersonAndNothingElse() async throws {
        try await AppWindow.two { ann, bob in
            let annID = try await ann.id
            let link = try #require(try await ann.ask("contact_link").firstMatch(of: #/"text":"([^"]+)"/#)).1
            let elsewhere = String(link).replacing(#/o=[^&]+/#, with: "o=elsewhere.example")
            try await bob.browser.click("#add")
            for (text, fault) in [
                (elsewhere, "on another server: elsewhere.example"),
                ("whisper://invite/chat.example#AAAAAAAAAAAAAAAAAAAAAA", "isn't a person's"),
                ("https://example.org/", "isn't a person's"), ("Ann", "twelve letters"),
            ] {
                try await bob.browser.type(text, into: "dialog [name=id]")
                try await bob.browser.click("dialog form .main")
                try await bob.shows(fault) { try await bob.content(of: "dialog .fault").contains(fault) }
            }
            try await bob.browser.type(String(link), into: "dialog [name=id]")
            try await bob.browser.type("Ann", into: "dialog [name=name]")
            try await bob.browser.click("dialog form .main")
            try await bob.shows("the chat") { try await bob.content(of: "#pane .title") == "Ann" }
            let contacts = try await bob.ask("contact_list")
            #expect(contacts.contains(annID) && contacts.contains(#""verification":"linked""#))
        }
    }

    /// Requests of a page are bounded, and no picture harms the daemon.
    @Test func picturesAreReadWithinTheirBounds() async throws {
        let folder = try TemporaryFolder(named: "app")
        defer { folder.remove() }
        try await Browser.open { browser in
            let ann = try await AppWindow.open(folder, "ann", in: browser)
            try await ann.shows("a page") { try await browser.count("#new") == 1 }
            let results = try await browser.asyncValue(
                of: """
                    const key = localStorage.getItem("whisper.key");
                    const post = (path, type, body) => fetch(path, { method: "POST", body, headers: { "Content-Type": type, "Whisper-Key": key } });
                    const picture = (width, height, count = width * height) => {
                        const body = new Uint8Array(4 + count).map((_, place) => place * 2_654_435_761 >> 7);
                        new DataView(body.buffer).setUint32(0, width * 65_536 + height);
                        return post("/scan", "application/octet-stream", body);
                    };
                    const draw = (text) => post("/qr", "application/json", JSON.stringify({ text }));
                    const all = [
                        () => post("/scan", "application/octet-stream", new Uint8Array(0)), () => picture(0, 0), () => picture(0, 480, 0),
                        () => picture(641, 1), () => picture(1, 481), () => picture(640, 480, 7), () => picture(65_535, 65_535, 7),
                        () => picture(1, 1), () => picture(640, 480),
                        () => draw(""), () => draw("x".repeat(1_001)), () => draw(7), () => draw("x".repeat(1_000)),
                    ];
                    const answers = [];
                    for (const each of all) answers.push((await each()).status);
                    // Pictures that come together wait for nobody.
                    const together = await Promise.all(Array.from({ length: 8 }, () => picture(640, 480)));
                    answers.push(together.every(({ status }) => [204, 429].includes(status)));
                    return answers;
                    """)
            let refused = Array(repeating: "400", count: 7)
            #expect(
                results.elements.map(\.text) == refused + ["204", "204"] + refused.prefix(3) + ["200", "true"])
            await ann.process.kill()
        }
    }

    @Test func whatComesWhileOneLooksElsewhereIsNoticed() async throws {
        try await AppWindow.two { ann, bob in
            let (annID, bobID) = (try await ann.id, try await bob.id)
            try await bob.browser.allowNotifications()
            try await bob.browser.value(of: AppWindow.recordingNotices)
            func notices(_ wanted: [String]) async throws {
                try await bob.shows("notices \(wanted)") {
                    try await bob.browser.value(of: "return window.notices").elements.compactMap(\.string) == wanted
                }
            }
            func show(_ what: String) async throws {
                try await bob.browser.click("#list header [aria-label=Menu]")
                try await bob.browser.click("#notices option[value='\(what)']")
                try await bob.browser.press("\u{E00C}")
                try await bob.shows("the choice") { try await bob.ask("host_get").contains(#""value":"\#(what)""#) }
            }
            try await show("text")
            // A stranger's words do not stand on the screen.
            try await ann.add(bobID, as: "Bob")
            try await ann.say("You don't know me")
            try await notices(["Whisper: Somebody new wrote to you."])
            try await bob.add(annID, as: "Ann")
            try await ann.say("Now you do")
            try await ann.shows("her message") { try await ann.messages.last == "> Now you do" }
            // A message that was deleted does not stand there any longer.
            let sent = try await ann.ask("chat_get", #"{"chat":"\#(bobID)"}"#)
            let id = try #require(sent.matches(of: #/"messageId":"([^"]+)"/#).last).1
            try await ann.ask("message_delete", #"{"messageId":"\#(id)"}"#)
            try await notices(["Whisper: Somebody new wrote to you.", "Ann: Now you do", "seen"])
            try await show("name")
            try await ann.say("And again")
            try await show("nothing")
            try await ann.say("And again")
            let told = [
                "Whisper: Somebody new wrote to you.", "Ann: Now you do", "seen", "Ann: New message",
                "Whisper: New message",
            ]
            try await notices(told)
            // A muted chat is silent, and so is one that a person looks at.
            try await bob.ask("chat_mark", #"{"chat":"\#(annID)","muted":true}"#)
            try await ann.say("Muted")
            try await bob.shows("it") { try await bob.messages.last == "Muted" }
            try await bob.ask("chat_mark", #"{"chat":"\#(annID)","muted":false}"#)
            try await bob.browser.value(of: "window.isHere = true")
            try await ann.say("Seen")
            try await ann.shows(state: "Read")
            try await notices(told + ["seen"])
        }
    }
}

extension AppWindow {
    /// The screen with its own code, as a picture.
    func showsItsCode() async throws -> String {
        try await self.browser.click("#list header [aria-label='My Whisper ID']")
        try await self.shows("its code") { try await self.browser.count("dialog svg.qr path") == 1 }
        let picture = try await self.browser.picture(beyondWindow: false)
        try await self.browser.value(of: "document.querySelector('dialog').close()")
        return picture.base64EncodedString()
    }

    static func blob(_ picture: String) -> String {
        "new Blob([Uint8Array.fromBase64('\(picture)')], { type: 'image/png' })"
    }

    /// Gives the dialog a picture of a code.
    func hold(_ blob: String) async throws {
        try await self.browser.value(
            of: """
                const chosen = new DataTransfer();
                chosen.items.add(new File([\(blob)], "code.png", { type: "image/png" }));
                const picker = document.querySelector("#code-file");
                picker.files = chosen.files;
                picker.dispatchEvent(new Event("change"));
                """)
    }

    /// From here on the camera shows a picture.
    func seesWithItsCamera(_ picture: String) async throws {
        _ = try await self.browser.asyncValue(
            of: """
                const bitmap = await createImageBitmap(\(Self.blob(picture)));
                window.held ??= document.createElement("canvas");
                [window.held.width, window.held.height] = [bitmap.width, bitmap.height];
                clearInterval(window.drawing);
                window.drawing = setInterval(() => window.held.getContext("2d").drawImage(bitmap, 0, 0), 50);
                window.cameras ??= [];
                navigator.mediaDevices.getUserMedia = async () => {
                    const stream = window.held.captureStream();
                    window.cameras.push(...stream.getTracks());
                    return stream;
                };
                return true;
                """)
    }
}
