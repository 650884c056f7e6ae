import Foundation
import LocalStack
import TestKit
import Testing

/// Files, photos and voice notes in `whisper app`.
extension AppCluster {
    /// Two people who know each other, each in the chat with the other.
    private func friends(
        _ body: (_ ann: AppWindow, _ bob: AppWindow, _ folder: String) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder(named: "saved")
        defer { folder.remove() }
        try await AppWindow.two { ann, bob in
            let (annID, bobID) = (try await ann.id, try await bob.id)
            try await ann.add(bobID, as: "Bob Ross")
            try await bob.add(annID, as: "Ann")
            try await bob.browser.save(to: folder.path)
            try await body(ann, bob, folder.path)
            for page in [ann, bob] { try await page.hasNoComplaints() }
        }
    }

    /// Bytes that this file and the page's script make the same.
    private static func bytes(_ count: Int) -> Data {
        Data((0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
    }
    private static func script(_ count: Int) -> String {
        "Uint8Array.from({ length: \(count) }, (_, place) => place * 31 + (place >> 8))"
    }

    private func saved(_ name: String, in folder: String, as page: AppWindow) async throws -> Data {
        try await page.shows("the file \(name) on the disk") {
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            return names == [name]
        }
        let data = try Data(contentsOf: URL(filePath: folder + "/" + name))
        try FileManager.default.removeItem(atPath: folder + "/" + name)
        return data
    }

    @Test func aFileIsSavedWithTheSameBytes() async throws {
        try await self.friends { ann, bob, folder in
            let count = 700_001
            try await ann.choose("[new File([\(Self.script(count))], 'plans of the boat.bin')]")
            try await ann.shows("what was chosen") {
                try await ann.content(of: "dialog .file-name") == "plans of the boat.bin"
            }
            try await ann.browser.click("#send-files")
            try await ann.shows(state: "Read")
            try await bob.shows("a file") { try await bob.content(of: "article .file-name") == "plans of the boat.bin" }
            try await bob.browser.click("article [aria-label='Save plans of the boat.bin']")
            #expect(try await self.saved("plans of the boat.bin", in: folder, as: bob) == Self.bytes(count))
            // A reload shows it again, and what the core keeps is not fetched a second time.
            try await bob.browser.reload()
            try await bob.browser.keepFocus()
            try await bob.ask("disconnect")
            try await bob.shows("the file") { try await bob.browser.count("article .file-row .sign") == 1 }
            try await bob.browser.click("article .file-row .sign")
            #expect(try await self.saved("plans of the boat.bin", in: folder, as: bob) == Self.bytes(count))
            // The sender has it, too.
            try await ann.browser.save(to: folder)
            try await ann.browser.click("article .file-row .sign")
            #expect(try await self.saved("plans of the boat.bin", in: folder, as: ann) == Self.bytes(count))
        }
    }

    /// A name that another client sends: a folder, turned letters and an ending of a program.
    @Test func aHostileNameIsHarmlessAndAProgramIsAskedAbout() async throws {
        try await self.friends { ann, bob, folder in
            let sent = try await ann.browser.asyncValue(
                of: """
                    const key = localStorage.getItem("whisper.key");
                    const send = (path, type, body) => fetch(path, { method: "POST", headers: { "Content-Type": type, "Whisper-Key": key }, body });
                    const { file } = await (await send("/files", "application/octet-stream", "echo owned")).json();
                    const params = { chat: "\(try await bob.id)", file, name: "..\\\\..\\\\<img src=x>\\u202Egpj.sh", mimeType: "image/jpeg" };
                    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "attachment_send", params });
                    return (await send("/rpc", "application/json", body)).text();
                    """)
            #expect(sent.string?.contains("result") == true, "\(sent)")
            try await bob.shows("a file") { try await bob.browser.count("article .file-name") == 1 }
            #expect(try await bob.content(of: "article .file-name") == "<img src=x>gpj.sh")
            #expect(try await bob.content(of: "article .ending") == ".sh")
            #expect(try await bob.browser.count("article img") == 0)
            try await bob.browser.click("article .file-row .sign")
            try await bob.shows("a question") { try await bob.content(of: "dialog .care").contains("can do things") }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder) == [])
            try await bob.browser.click("dialog .buttons button")
            try await bob.shows("the file on the disk") {
                try FileManager.default.contentsOfDirectory(atPath: folder).count == 1
            }
            let name = try FileManager.default.contentsOfDirectory(atPath: folder)[0]
            #expect(name.hasSuffix("gpj.sh") && !name.contains("\u{202E}"), "\(name)")
        }
    }

    /// A photo as a camera makes it, with the place where it was taken.
    private static let camera = """
        const canvas = Object.assign(document.createElement("canvas"), { width: 1200, height: 800 });
        const paper = canvas.getContext("2d");
        for (const [from, to, top, height] of [["#9fc6e8", "#f3dfc1", 0, 460], ["#2f6f86", "#123a4a", 460, 340]]) {
            const fill = paper.createLinearGradient(0, top, 0, top + height);
            fill.addColorStop(0, from);
            fill.addColorStop(1, to);
            paper.fillStyle = fill;
            paper.fillRect(0, top, 1200, height);
        }
        paper.fillStyle = "#fff6d8";
        paper.beginPath();
        paper.arc(840, 360, 70, 0, 7);
        paper.fill();
        paper.fillStyle = "#7a2e1d";
        paper.beginPath();
        for (const [x, y] of [[330, 500], [700, 500], [640, 590], [400, 590]]) paper.lineTo(x, y);
        paper.fill();
        paper.fillRect(505, 260, 12, 240);
        paper.fillStyle = "#f6f1e6";
        paper.beginPath();
        for (const [x, y] of [[517, 270], [680, 470], [517, 470]]) paper.lineTo(x, y);
        paper.fill();
        const drawn = new Uint8Array(await (await new Promise((done) => canvas.toBlob(done, "image/jpeg", 0.9))).arrayBuffer());
        const place = new TextEncoder().encode("Exif\\0\\0GPS 53.5511 N 9.9937 E");
        const head = [0xff, 0xd8, 0xff, 0xe1, 0, place.length + 2];
        const picture = new File([Uint8Array.from([...head, ...place]), drawn.subarray(2)], "harbour.jpg", { type: "image/jpeg" });
        """

    /// Whether the place stands in the latest photo of a page, as its daemon gives it out.
    private func hasPlace(_ page: AppWindow, from author: String?) async throws -> Bool {
        let answer = try await page.browser.asyncValue(
            of: """
                const headers = { "Whisper-Key": localStorage.getItem("whisper.key") };
                const [, , id] = [...document.querySelectorAll("article")].at(-1).dataset.key.split(" ");
                const answer = await fetch(`/files?messageId=${id}\(author.map { "&from=\($0)" } ?? "")`, { headers });
                const text = new TextDecoder("latin1").decode(await answer.arrayBuffer());
                return `${answer.status} ${text.startsWith("\\u00ff\\u00d8")} ${/Exif|GPS/.test(text)}`;
                """)
        #expect(answer.string?.hasPrefix("200 true") == true, "\(answer)")
        return answer.string?.hasSuffix("true") == true
    }

    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func aPhotoLosesItsPlaceAndKeepsItsOwn() async throws {
        let axe = try Axe.source()
        try await self.friends { ann, bob, _ in
            let annID = try await ann.id
            try await bob.say("How is the weather there?")
            try await ann.shows(messages: ["How is the weather there?"])
            // It is pasted.
            _ = try await ann.browser.asyncValue(
                of: Self.camera + """
                    const clipboardData = new DataTransfer();
                    clipboardData.items.add(picture);
                    document.querySelector("#text").dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
                    """)
            try await ann.shows("the photo") { try await ann.browser.count("dialog .chosen img") == 1 }
            try await Self.look(ann, "send-photo-light", axe)
            try await ann.browser.click("#send-files")
            // Its place is there before it, and it comes by itself.
            try await bob.shows("a photo") { try await bob.browser.count(".photo img") == 1 }
            let shape = try await bob.browser.value(
                of:
                    "const { width, height } = document.querySelector('.photo').getBoundingClientRect(); return Math.round(100 * width / height)"
            )
            #expect(shape.integer == 150, "\(shape)")
            try await bob.shows("the whole photo") {
                try await bob.browser.value(of: "return document.querySelector('.photo img')?.naturalWidth").integer
                    == 1_200
            }
            #expect(try await !self.hasPlace(bob, from: annID))
            try await bob.browser.click(".photo")
            try await bob.shows("the viewer") { try await bob.browser.count(".viewer img") == 1 }
            try await Self.look(bob, "photo-dark", axe)
            try await bob.browser.press("\u{E00C}")
            // The original, if the person says so.
            try await ann.shows("the chat") { try await ann.browser.count("dialog") == 0 }
            _ = try await ann.browser.asyncValue(of: Self.camera + AppWindow.choosing("[picture]"))
            try await ann.shows("the photo") { try await ann.browser.count("dialog .chosen img") == 1 }
            try await ann.browser.click("dialog [type=checkbox]")
            try await ann.browser.click("#send-files")
            try await bob.shows("two photos") {
                try await bob.browser.value(
                    of:
                        "return [...document.querySelectorAll('.photo img')].filter(({ naturalWidth }) => naturalWidth === 1200).length"
                ).integer == 2
            }
            #expect(try await self.hasPlace(bob, from: annID))
            #expect(try await self.hasPlace(ann, from: nil))
        }
    }

    /// Files of strangers are closed until they are accepted.
    @Test func filesOfStrangersAreClosed() async throws {
        try await AppWindow.two { ann, bob in
            let bobID = try await bob.id
            try await ann.add(bobID, as: "Bob")
            _ = try await ann.browser.asyncValue(of: Self.camera + AppWindow.choosing("[picture]"))
            try await ann.shows("the photo") { try await ann.browser.count("dialog .chosen img") == 1 }
            try await ann.browser.click("#send-files")
            try await bob.shows("a request") { try await bob.browser.count("#list section button") >= 1 }
            try await bob.browser.click("#list section button")
            try await bob.shows("a closed file") {
                try await bob.content(of: "article .file .hint").contains("when you accept")
            }
            #expect(try await bob.browser.count("article .file :is(img, button, .photo)") == 0)
            try await bob.browser.click("#accept")
            try await bob.shows("the photo") {
                try await bob.browser.value(of: "return document.querySelector('.photo img')?.naturalWidth").integer
                    == 1_200
            }
            for page in [ann, bob] { try await page.hasNoComplaints() }
        }
    }

    @Test func whatCannotGoIsSaidAndWhatWaitsIsCancelled() async throws {
        try await self.friends { ann, bob, folder in
            try await ann.choose(
                """
                [new File([new Uint8Array(50_000_001)], "film.mp4", { type: "video/mp4" }),
                    new File(["no picture"], "broken.jpg", { type: "image/jpeg" }), new File(["tea"], "tea.txt")]
                """)
            try await ann.shows("three files") { try await ann.browser.count("dialog .chosen li") == 3 }
            let faults = try await ann.texts("dialog .chosen .fault")
            #expect(
                faults.count == 2 && faults[0].contains("at most 50 MB") && faults[1].contains("can't be read"),
                "\(faults)")
            // The rest goes. Without the server it waits, and can be taken back.
            try await ann.ask("disconnect")
            try await ann.browser.click("#send-files")
            try await ann.shows("a file that waits") { try await ann.browser.count("article progress") == 1 }
            try await ann.browser.value(of: "document.querySelector('dialog')?.close()")
            try await ann.browser.click("article .moving button")
            try await ann.shows("the end") { try await ann.content(of: "article .outcome").contains("took it back") }
            // A folder is refused.
            try await ann.browser.value(
                of: """
                    const items = [{ kind: "file", webkitGetAsEntry: () => ({ isDirectory: true }), getAsFile: () => null }];
                    const event = Object.assign(new Event("drop", { bubbles: true, cancelable: true }), { dataTransfer: { items, types: ["Files"] } });
                    document.querySelector("#pane").dispatchEvent(event);
                    """)
            try await ann.shows("a sentence") {
                try await ann.content(of: "dialog .fault").contains("Folders can't be sent")
            }
            try await ann.browser.value(of: "document.querySelector('dialog').close()")
            try await ann.ask("connect")
            // A download that is cancelled can begin anew.
            try await ann.choose("[new File([\(Self.script(90_000))], 'map.bin')]")
            try await ann.browser.click("#send-files")
            try await bob.shows("a file") { try await bob.browser.count("article .file-row .sign") == 1 }
            try await bob.ask("disconnect")
            try await bob.browser.click("article .file-row .sign")
            try await bob.shows("a wait") { try await bob.browser.count("article progress") == 1 }
            try await bob.browser.click("article .moving button")
            try await bob.shows("an offer") { try await bob.browser.count("article .file-row .sign") == 1 }
            try await bob.ask("connect")
            try await bob.browser.click("article .file-row .sign")
            #expect(try await self.saved("map.bin", in: folder, as: bob) == Self.bytes(90_000))
        }
    }

    /// A note is recorded, heard, sent, and played by keyboard alone. Chromium has a device that beeps.
    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func aVoiceNoteIsRecordedHeardAndPlayed() async throws {
        let axe = try Axe.source()
        try await self.friends { ann, bob, _ in
            try await ann.browser.click("#voice")
            try await ann.shows("two seconds") { try await ann.content(of: "dialog [role=timer]") >= "0:02" }
            try await Self.look(ann, "recording-light", axe)
            try await ann.browser.click("#stop-voice")
            try await ann.shows("a player") { try await ann.browser.count("dialog .player") == 1 }
            try await ann.browser.click("#throw-away")
            try await ann.shows("no dialog") { try await ann.browser.count("dialog") == 0 }
            #expect(try await ann.browser.count("article") == 0)
            for _ in 0..<2 {
                try await ann.browser.click("#voice")
                try await ann.shows("three seconds") { try await ann.content(of: "dialog [role=timer]") >= "0:03" }
                try await ann.browser.click("#stop-voice")
                try await ann.browser.click("#send-voice")
                try await ann.shows("no dialog") { try await ann.browser.count("dialog") == 0 }
            }
            try await bob.shows("two notes") { try await bob.browser.count("article .player") == 2 }
            let first = "document.querySelectorAll('.player')[0]"
            #expect(
                try await bob.browser.value(of: "return \(first).querySelector('.bars path').getAttribute('d').length")
                    .integer ?? 0 > 100)
            try await bob.browser.value(of: "\(first).querySelector('.sign').focus()")
            try await bob.browser.press("\u{E007}")
            func labels() async throws -> [String] {
                try await bob.browser.value(
                    of: "return [...document.querySelectorAll('.player .sign')].map((each) => each.ariaLabel)"
                ).elements.compactMap(\.string)
            }
            func place() async throws -> Int64 {
                try await bob.browser.value(of: "return Math.round(\(first).querySelector('input').value)").integer ?? 0
            }
            try await bob.shows("it plays") { try await labels()[0] == "Pause" }
            try await bob.shows("it moves") { try await place() > 0 }
            // The other one begins, and this one stops.
            try await bob.browser.value(of: "document.querySelectorAll('.player')[1].querySelector('.sign').focus()")
            try await bob.browser.press(" ")
            try await bob.shows("the other plays alone") {
                let labels = try await labels()
                return labels[0].hasPrefix("Play") && labels[1] == "Pause"
            }
            try await bob.shows("it ends") { try await labels().allSatisfy { $0.hasPrefix("Play") } }
            // Faster, and from another place; the arrows are the slider's.
            try await bob.browser.value(of: "\(first).querySelector('.rate').focus()")
            try await bob.browser.press("\u{E007}")
            #expect(try await bob.content(of: ".rate") == "1.5×")
            try await bob.browser.value(of: "\(first).querySelector('input').focus()")
            let before = try await place()
            try await bob.browser.press("\u{E013}")
            try await bob.shows("another place") { try await place() != before }
            #expect(try await bob.browser.value(of: "return document.activeElement.type").string == "range")
        }
    }

    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func filesKeepNobodyOut() async throws {
        let axe = try Axe.source()
        try await self.friends { ann, bob, _ in
            try await ann.say("We're out of the harbour.")
            _ = try await ann.browser.asyncValue(
                of: Self.camera
                    + AppWindow.choosing(
                        "[picture, new File(['x'.repeat(48_000)], 'Route to Helgoland.pdf', { type: 'application/pdf' })]"
                    ))
            try await ann.shows("two files") { try await ann.browser.count("dialog .chosen li") == 2 }
            try await Self.look(ann, "send-files-dark", axe)
            try await ann.browser.click("#send-files")
            try await bob.shows("two files") { try await bob.browser.count("article .file") == 2 }
            try await bob.browser.click("#voice")
            try await bob.shows("two seconds") { try await bob.content(of: "dialog [role=timer]") >= "0:02" }
            try await bob.browser.click("#stop-voice")
            try await bob.browser.click("#send-voice")
            try await ann.shows("the note") { try await ann.browser.count("article .player") == 1 }
            try await ann.say("Sounds good. Back on Sunday!")
            try await ann.shows("the last word") { try await ann.messages.last == "> Sounds good. Back on Sunday!" }
            try await ann.shows(state: "Read")
            for (name, width, height, isDark) in [
                ("light", 1_280, 800, false), ("dark", 1_280, 800, true), ("narrow", 320, 640, false),
            ] {
                try await ann.browser.prefer(dark: isDark)
                try await ann.browser.resize(width: width, height: height)
                try await ann.shows("the photo") {
                    try await ann.browser.value(of: "return document.querySelector('.photo img')?.naturalWidth").integer
                        == 1_200
                }
                try await Self.look(ann, "files-\(name)", axe)
            }
            try await ann.browser.value(of: "document.documentElement.dataset.size = '300'")
            try await Self.look(ann, "files-large", axe)
        }
    }
}
