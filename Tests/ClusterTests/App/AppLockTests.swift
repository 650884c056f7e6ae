import Foundation
import LocalStack
import TestKit
import Testing

/// The passphrase of a profile, its key file, and the lock.
extension AppCluster {
    private static let passphrase = "four plain Wörter more"

    @Test func aPassphraseSealsANewProfileAndIsAskedForAtTheStart() async throws {
        let folder = try TemporaryFolder(named: "app")
        defer { folder.remove() }
        let home = folder.path + "/home/ann"
        try await Browser.open { browser in
            let ann = try await AppWindow.open(folder, "ann", in: browser)
            let words = try await ann.becomesSomebody(passphrase: Self.passphrase)
            let id = try await ann.id
            // Neither the words nor a key lie on the disk.
            #expect(!Self.exists(home + "/phrase") && !Self.exists(home + "/key"))
            #expect(try Self.files(in: home, with: [words.joined(separator: " "), Self.passphrase]) == [])
            #expect(await ann.process.interrupt())
            // A command without a terminal cannot ask, and says why it does nothing.
            let said = try await Typist(folder, "ann").types("id", fails: true)
            #expect(!said.contains("WSP-"))

            var again = try await AppWindow.open(folder, "ann", in: browser, server: nil)
            for count in 1...5 {
                try await again.unlocks(with: "wrong \(count)")
                let answer = count < 5 ? "That isn't the passphrase." : "That was wrong too often."
                try await again.shows(answer) {
                    let isBusy = try await browser.count("#go[aria-disabled]") == 1
                    let fault = try await again.content(of: ".field .fault")
                    return !isBusy && fault.contains(answer)
                }
            }
            // The right one has to wait, too. Other commands find the daemon, and it opens nothing for them.
            try await again.unlocks(with: Self.passphrase)
            try await again.shows("a wait") { try await again.content(of: ".field .fault").contains("Try again in") }
            #expect(try await again.status("/seal", #"{"passphrase":"\#(Self.passphrase)"}"#) == 409)
            #expect(try await again.status("/session/unlock", #"{"passphrase":"\#(Self.passphrase)"}"#) == 429)
            #expect(try await !Typist(folder, "ann").types("id", fails: true).contains("WSP-"))
            await again.process.kill()

            again = try await AppWindow.open(folder, "ann", in: browser, server: nil)
            try await again.unlocks(with: Self.passphrase)
            try await again.isUsable()
            #expect(try await again.id == id)
            // It knows its server, and is connected.
            #expect(try await again.ask("session_status").contains(#""isOnline":true"#))
            #expect(try await Typist(folder, "ann").types("id").contains(id))
            await again.process.kill()
        }
    }

    /// A daemon of before has a plain store, and the page seals it; later with a passphrase, another one, and none.
    @Test func aPlainProfileIsSealedInTheSettings() async throws {
        let folder = try TemporaryFolder(named: "app")
        defer { folder.remove() }
        let home = folder.path + "/home/ann"
        let made = try await Typist(folder, "ann").types("init", "--server", Typist.server)
        let id = String(try #require(made.firstMatch(of: #/WSP-[A-Z0-9-]+[A-Z0-9]/#)).0)
        #expect(Self.exists(home + "/phrase"))
        try await Browser.open { browser in
            let ann = try await AppWindow.open(folder, "ann", in: browser)
            try await ann.isUsable()
            func seals(_ fields: [(String, String)], _ button: String) async throws {
                try await ann.opensSecurity()
                for (name, text) in fields { try await browser.type(text, into: "dialog [name=\(name)]") }
                try await browser.click(button)
            }
            func isSealed(_ kind: String) async throws {
                try await ann.shows("sealed: \(kind)") {
                    let dialogs = try await browser.count("dialog")
                    let state = try await ann.state()
                    return dialogs == 0 && state.contains(#""seal":"\#(kind)""#)
                }
                #expect(try await ann.id == id)
                #expect(Self.exists(home + "/key") == (kind == "key") && !Self.exists(home + "/phrase"))
            }
            try await seals([], "#seal-key")
            try await isSealed("key")
            try await seals([("new", "first words"), ("again", "first word")], "#seal")
            try await ann.shows("two passphrases") {
                try await ann.content(of: "dialog form").contains("These are two passphrases.")
            }
            try await browser.type("first words", into: "dialog [name=again]")
            try await browser.click("#seal")
            try await isSealed("passphrase")
            // Somebody who finds the computer unlocked changes nothing.
            try await seals([("now", "a guess"), ("new", "mine"), ("again", "mine")], "#seal")
            try await ann.shows("a refusal") {
                try await ann.content(of: "dialog form").contains("That isn't the passphrase.")
            }
            try await browser.type("first words", into: "dialog [name=now]")
            try await browser.click("#seal")
            try await isSealed("passphrase")
            #expect(try await ann.status("/seal", #"{"now":"first words"}"#) == 403)
            try await seals([("now", "mine")], "#seal-key")
            try await isSealed("key")
            #expect(await ann.process.interrupt())
            #expect(try await Typist(folder, "ann").types("id").contains(id))
        }
    }

    /// A program's daemon without a key: the profile that the page makes there is sealed, too.
    @Test func aDaemonOfBeforeGetsASealedProfile() async throws {
        let folder = try TemporaryFolder(named: "app")
        defer { folder.remove() }
        let home = folder.path + "/home/ann"
        try FileManager.default.createDirectory(atPath: folder.path + "/home", withIntermediateDirectories: true)
        let daemon = try await TerminalProcess.start(
            folder, "ann", "daemon", "--socket", folder.path + "/own.sock", "--server", Typist.server)
        try await waitUntil("a daemon", within: .seconds(30), every: .milliseconds(20)) {
            Self.exists(folder.path + "/own.sock")
        }
        try await Browser.open { browser in
            let environment = ["WHISPER_HOME": folder.path + "/home", "XDG_RUNTIME_DIR": folder.path]
            let said = try await Typist(folder, "ann", environment: environment).types("app", "--no-browser")
            let file = try #require(said.split(whereSeparator: \.isWhitespace).last)
            try await browser.go(to: "file://\(file)")
            let ann = AppWindow(browser: browser, process: daemon)
            try await ann.becomesSomebody()
            #expect(Self.exists(home + "/key") && !Self.exists(home + "/phrase"))
        }
        await daemon.kill()
    }

    @Test func aLockedWindowTellsNothingAndGoesOnReceiving() async throws {
        let folder = try TemporaryFolder(named: "app")
        defer { folder.remove() }
        try await Browser.open { first in
            let ann = try await AppWindow.open(folder, "ann", in: first)
            try await ann.becomesSomebody(passphrase: Self.passphrase)
            try await Browser.open { second in
                let bob = try await AppWindow.open(folder, "bob", in: second)
                try await bob.becomesSomebody()
                let (annID, bobID) = (try await ann.id, try await bob.id)
                try await ann.add(bobID, as: "Bob")
                try await bob.add(annID, as: "Ann")
                try await bob.say("The key is under the mat.")
                try await ann.shows(messages: ["The key is under the mat."])
                try await first.type("Half a", into: "#text")
                try await ann.watchesNotices()
                try await ann.opensSecurity()
                try await first.click("#lock")
                try await ann.isLocked()
                let body = try await first.value(of: "return document.documentElement.outerHTML").string ?? ""
                for word in ["mat", "Bob", "WSP-", "Half"] { #expect(!body.contains(word), "\(word)") }
                #expect(try await first.value(of: "return history.state") == .null)
                // The session takes the passphrase alone.
                for (path, text) in [
                    ("/rpc", #"{"jsonrpc":"2.0","id":1,"method":"chat_list","params":{}}"#),
                    ("/qr", #"{"text":"a"}"#), ("/seal", "{}"),
                ] { #expect(try await ann.status(path, text) == 423, "\(path)") }
                #expect(try await !ann.state().contains("WSP-"))
                // The core goes on.
                try await bob.say("Not any more.")
                try await bob.shows(state: "Delivered")
                try await ann.shows("a notice without words") {
                    try await first.value(of: "return window.notices").elements.compactMap(\.string)
                        == ["Whisper: New message"]
                }
                try await ann.unlocks(with: "Half a")
                try await ann.shows("a refusal") {
                    try await ann.content(of: ".field .fault").contains("isn't the passphrase")
                }
                try await first.reload()
                try await ann.isLocked()
                try await ann.unlocks(with: Self.passphrase)
                try await ann.isUsable()
                try await first.click("[data-key='\(bobID)'] button")
                try await ann.shows(messages: ["The key is under the mat.", "Not any more."])
                try await ann.shows("the draft") {
                    try await first.value(of: "return document.querySelector('#text').value").string == "Half a"
                }
                await bob.process.kill()
            }
            await ann.process.kill()
        }
    }

    @Test func aWindowLocksItselfWhenNobodyIsThere() async throws {
        let folder = try TemporaryFolder(named: "app")
        defer { folder.remove() }
        try await Browser.open { browser in
            let ann = try await AppWindow.open(folder, "ann", in: browser)
            try await ann.becomesSomebody(passphrase: Self.passphrase)
            try await ann.opensSecurity()
            try await browser.click("#lock-after option[value='5']")
            try await ann.shows("the choice") { try await ann.ask("host_get").contains(#""key":"lock","value":"5""#) }
            try await browser.reload()
            try await ann.isUsable()
            try await browser.value(of: "const now = Date.now; Date.now = () => now() + 301_000")
            try await ann.isLocked()
            try await ann.unlocks(with: Self.passphrase)
            try await ann.isUsable()
            await ann.process.kill()
        }
    }

    private static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// Files that have one of the texts in them.
    private static func files(in folder: String, with texts: [String]) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: folder).filter { name in
            let bytes = FileManager.default.contents(atPath: folder + "/" + name) ?? Data()
            return texts.contains { bytes.range(of: Data($0.utf8)) != nil }
        }
    }
}

extension AppWindow {
    fileprivate func opensSecurity() async throws {
        try await self.browser.click("#list header [aria-label=Menu]")
        try await self.browser.click("#security")
    }

    fileprivate func isLocked() async throws {
        try await self.shows("a lock") { try await self.content(of: "main").contains("Whisper is locked") }
    }

    fileprivate func unlocks(with passphrase: String) async throws {
        try await self.browser.type(passphrase, into: "[name=passphrase]")
        try await self.browser.click("#go")
    }

    fileprivate func watchesNotices() async throws {
        try await self.browser.allowNotifications()
        try await self.browser.click("#list header [aria-label=Menu]")
        try await self.browser.click("#notices option[value='text']")
        try await self.browser.press("\u{E00C}")
        try await self.shows("the choice") { try await self.ask("host_get").contains(#""value":"text""#) }
        try await self.browser.runBeforePages(Self.recordingNotices)
    }

    /// The answer to `GET /app`.
    fileprivate func state() async throws -> String {
        try await self.browser.asyncValue(
            of: """
                const headers = { "Whisper-Key": localStorage.getItem("whisper.key") };
                return (await fetch("/app", { headers })).text();
                """
        ).string ?? ""
    }

    /// The status of a `POST`.
    fileprivate func status(_ path: String, _ body: String) async throws -> Int64? {
        try await self.browser.asyncValue(
            of: """
                const key = localStorage.getItem("whisper.key");
                const headers = { "Content-Type": "application/json", "Whisper-Key": key };
                return (await fetch("\(path)", { method: "POST", headers, body: '\(body)' })).status;
                """
        ).integer
    }
}
