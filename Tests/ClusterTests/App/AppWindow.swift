import Foundation
import LocalStack
import TestKit
import Testing

/// `whisper app` of one person: its process, and its window in a browser.
struct AppWindow {
    let browser: Browser
    let process: TerminalProcess

    /// Starts the app of a profile, and opens the file that leads to its page, as a person does.
    /// - Parameter server: `nil` if the page is to ask for it.
    static func open(
        _ folder: TemporaryFolder, _ profile: String, in browser: Browser, server: String? = Typist.server
    ) async throws -> AppWindow {
        let words = ["app", "--no-browser", "--address", "kept"] + (server.map { ["--server", $0] } ?? [])
        let process = try await TerminalProcess.start(folder, profile, words)
        let line = try await process.prints("Open this file")
        let file = try #require(line.split(separator: " ").last)
        try await browser.go(to: "about:blank")
        try await browser.keepFocus()
        try await browser.go(to: "file://\(file)")
        return AppWindow(browser: browser, process: process)
    }

    /// Two people in windows of their own, who have identities and are online.
    static func two(
        _ body: (_ ann: AppWindow, _ bob: AppWindow) async throws -> Void
    ) async throws {
        let folder = try TemporaryFolder(named: "app")
        defer { folder.remove() }
        try await Browser.open { first in
            let ann = try await self.open(folder, "ann", in: first)
            try await ann.becomesSomebody()
            try await Browser.open { second in
                let bob = try await self.open(folder, "bob", in: second)
                try await bob.becomesSomebody()
                try await body(ann, bob)
                await bob.process.kill()
            }
            await ann.process.kill()
        }
    }

    // MARK: What a person does

    /// New words, written down and checked.
    /// - Parameter passphrase: seals the profile; without it a key file does.
    @discardableResult
    func becomesSomebody(passphrase: String? = nil) async throws -> [String] {
        try await self.browser.click("#new")
        try await self.shows("twelve words") { try await self.browser.count(".words li") == 12 }
        let words = try await self.texts(".words li span")
        try await self.browser.click("#written")
        for place in try await self.askedPlaces() {
            try await self.browser.type(words[place - 1], into: "[data-place='\(place)']")
        }
        try await self.browser.click("#go")
        try await self.protects(with: passphrase)
        try await self.isUsable()
        return words
    }

    /// The passphrase of a new profile, or none.
    func protects(with passphrase: String?) async throws {
        try await self.shows("the question for a passphrase") { try await self.browser.count("#without") == 1 }
        guard let passphrase else { return try await self.browser.click("#without") }
        try await self.browser.type(passphrase, into: "[name=new]")
        try await self.browser.type(passphrase, into: "[name=again]")
        try await self.browser.click("#go")
    }

    func askedPlaces() async throws -> [Int] {
        try await self.shows("fields for words") { try await self.browser.count("[data-place]") == 3 }
        return try await self.browser.value(
            of: "return [...document.querySelectorAll('[data-place]')].map((field) => field.dataset.place)"
        ).elements.compactMap { $0.string.flatMap { Int($0) } }
    }

    /// The list is there, and the server knows who this is.
    func isUsable() async throws {
        try await self.shows("a list") { try await self.browser.count("#list") == 1 }
        _ = try await self.id
    }

    var id: String {
        get async throws {
            var id = ""
            try await self.shows("an id of the server") {
                try await self.browser.value(of: "document.querySelector('dialog')?.close()")
                try await self.browser.click("#list header [aria-label='My Whisper ID']")
                id = try await self.content(of: "#my-id")
                let isGiven = try await self.content(of: "dialog").contains("Give it to people")
                try await self.browser.value(of: "document.querySelector('dialog').close()")
                return isGiven && id.hasPrefix("WSP-")
            }
            return id
        }
    }

    func add(_ id: String, as name: String) async throws {
        try await self.browser.click("#add")
        try await self.browser.type(id, into: "dialog [name=id]")
        try await self.browser.type(name, into: "dialog [name=name]")
        try await self.browser.click("dialog form .main")
        try await self.shows("the chat with \(name)") { try await self.content(of: "#pane .title") == name }
    }

    func say(_ text: String) async throws {
        try await self.browser.type(text, into: "#text")
        try await self.browser.press("\u{E007}")
    }

    /// Does a verb of the core, as the page may.
    @discardableResult
    func ask(_ method: String, _ parameters: String = "{}") async throws -> String {
        let answer = try await self.browser.asyncValue(
            of: """
                const headers = { "Content-Type": "application/json", "Whisper-Key": localStorage.getItem("whisper.key") };
                const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "\(method)", params: \(parameters) });
                return (await fetch("/rpc", { method: "POST", headers, body })).text();
                """)
        let text = answer.string ?? ""
        #expect(text.contains(#""result""#), "\(method): \(text)")
        return text
    }

    /// A script that chooses files with the picker. `files` is an array of the script.
    static func choosing(_ files: String) -> String {
        """
        const chosen = new DataTransfer();
        for (const file of \(files)) chosen.items.add(file);
        const picker = document.querySelector("#picker");
        picker.files = chosen.files;
        picker.dispatchEvent(new Event("change"));
        """
    }

    func choose(_ files: String) async throws { try await self.browser.value(of: Self.choosing(files)) }

    /// A script that keeps the notices of a page in `window.notices`, and has it looked away from.
    static let recordingNotices = """
        window.notices = [];
        const Own = window.Notification;
        window.Notification = class extends Own {
            constructor(title, options) {
                super(title, options);
                window.notices.push(`${title}: ${options.body}`);
                window.latest = this;
            }
            close() {
                super.close();
                window.notices.push("seen");
            }
        };
        window.isHere = false;
        document.hasFocus = () => window.isHere;
        """

    // MARK: What it shows

    func texts(_ selector: String) async throws -> [String] {
        try await self.browser.value(
            of: "return [...document.querySelectorAll(\"\(selector)\")].map((element) => element.textContent)"
        ).elements.compactMap(\.string)
    }

    func content(of selector: String) async throws -> String {
        try await self.browser.value(of: "return document.querySelector(\"\(selector)\")?.textContent ?? ''").string
            ?? ""
    }

    /// Texts of the open chat, ours with a `>` in front.
    var messages: [String] {
        get async throws {
            try await self.browser.value(
                of: """
                    return [...document.querySelectorAll("article")].map((article) =>
                        (article.dataset.direction === "out" ? "> " : "") + (article.querySelector(".text, .note")?.textContent ?? ""))
                    """
            ).elements.compactMap(\.string)
        }
    }

    /// The browser's log is that of all windows: this one is known by its name.
    func hasNoComplaints() async throws {
        let name = try #require(try await self.browser.address.split(separator: "/").dropFirst().first)
        let complaints = try await self.browser.complaints().filter { $0.contains(name) }
        #expect(complaints == [])
    }

    func shows(messages: [String]) async throws {
        try await self.shows("messages \(messages)") { try await self.messages == messages }
    }

    /// The state of our latest message.
    func shows(state: String) async throws {
        try await self.shows("state \(state)") {
            try await self.texts("article[data-direction=out] .outcome").last == state
        }
    }

    func shows(
        _ what: String, within timeout: Duration = .seconds(30),
        _ condition: nonisolated(nonsending) () async throws -> Bool
    ) async throws {
        do {
            // Between two pages there is nothing to look at.
            try await waitUntil(what, within: timeout, every: .milliseconds(50)) { (try? await condition()) == true }
        } catch {
            throw NotShown(
                what: what, text: try await self.browser.text(of: "body"), lines: self.process.lines,
                complaints: try await self.browser.complaints())
        }
    }

    struct NotShown: Error {
        var what, text: String
        var lines, complaints: [String]
    }
}
