import Foundation
import LocalStack
import TestKit

/// One window of a real browser, and what a person does there.
struct Browser {
    private let session: WebDriver
    private let context: String
    private let shared: SharedBrowser

    private typealias Refused = WebDriver.Refused

    /// The driver's name for an element (WebDriver, 11).
    private static let elementKey = "element-6066-11e4-a52e-4f735466cecf"

    /// A window of a person of its own, while `body` runs: in the suite's Chromium, or else in one that is started for it.
    static func open(_ body: (Browser) async throws -> Void) async throws {
        guard let shared = SharedBrowser.running else {
            return try await SharedBrowser.run { try await self.open(body) }
        }
        let (session, context) = try await shared.window()
        do {
            try await body(Browser(session: session, context: context, shared: shared))
        } catch {
            await shared.close(context: context)
            await session.close()
            throw error
        }
        await shared.close(context: context)
        await session.close()
    }

    /// Processor time of the whole browser so far.
    func cpu() async -> Duration { await self.shared.chromium.cpu() }

    // MARK: Going

    func go(to address: String) async throws { try await self.command("url", ["url": address]) }
    func reload() async throws { try await self.command("refresh", [:]) }
    var address: String { get async throws { try await self.question("url").string ?? "" } }

    // MARK: Looking

    /// The visible text of the first element that a CSS selector finds.
    func text(of selector: String = "main") async throws -> String {
        try await self.question("element/\(try await self.element(selector))/text").string ?? ""
    }

    func count(_ selector: String) async throws -> Int {
        try await self.command("elements", ["using": "css selector", "value": selector]).elements.count
    }

    func isHidden(_ selector: String) async throws -> Bool {
        try await self.value(of: "return !document.querySelector('\(selector)')?.checkVisibility()") == .bool(true)
    }

    /// The result of a script in the page.
    @discardableResult
    func value(of script: String) async throws -> JSON {
        try await self.command("execute/sync", ["script": script, "args": [JSON]()])
    }

    /// The result of an asynchronous function in the page. `script` is its body; `args` are its arguments.
    func asyncValue(of script: String, _ args: [JSON] = []) async throws -> JSON {
        try await self.session.asyncValue(of: script, args)
    }

    /// The value of a cookie, also of one that pages cannot see.
    func cookie(_ name: String) async throws -> JSON { try await self.question("cookie/\(name)") }

    /// Severe entries in the browser's log since the last call, such as broken policies; not those of the network.
    func complaints() async throws -> [String] {
        try await self.command("se/log", ["type": "browser"]).elements
            .filter { $0["level"]?.string == "SEVERE" && $0["source"]?.string != "network" }.map(\.text)
    }

    /// This window's network events since the last call (Chrome DevTools Protocol, domain `Network`), by method.
    func traffic() async throws -> [(method: String, parameters: JSON)] {
        // A session gets the events of every window of the browser.
        let own = try await self.shared.targets(of: self.context)
        return try await self.command("se/log", ["type": "performance"]).elements.compactMap { entry in
            guard let text = entry["message"]?.string, let event = try? JSON(parsing: Array(text.utf8)),
                let window = event["webview"]?.string, own.contains(window), let message = event["message"],
                let method = message["method"]?.string, method.hasPrefix("Network.")
            else { return nil }
            return (method, message["params"] ?? .null)
        }
    }

    // MARK: Doing

    // A page that has just been loaded hides most of itself until its script runs. A person waits, too.

    func click(_ selector: String) async throws {
        try await self.command("element/\(try await self.shown(selector))/click", [:])
    }

    func type(_ text: String, into selector: String) async throws {
        let element = try await self.shown(selector)
        try await self.command("element/\(element)/clear", [:])
        try await self.command("element/\(element)/value", ["text": text])
    }

    /// Keys on whatever has the focus. Special ones are those of WebDriver, 17.4.2.
    func press(_ keys: String) async throws {
        let presses = keys.map { ["type": "keyDown", "value": "\($0)"] as Fields }.flatMap { down in
            [down.json, down.with(["type": "keyUp"]).json]
        }
        let keyboard: Fields = ["type": "key", "id": "keyboard", "actions": JSON.array(presses)]
        try await self.command("actions", ["actions": JSON.array([keyboard.json])])
    }

    /// A key together with Alt and Shift, by its place on the keyboard.
    func press(alt code: String) async throws {
        let keys = "{ code: '\(code)', altKey: true, shiftKey: true, bubbles: true, cancelable: true }"
        try await self.value(of: "document.activeElement.dispatchEvent(new KeyboardEvent('keydown', \(keys)))")
    }

    /// Runs a script in each page from here on, before its own.
    func runBeforePages(_ script: String) async throws {
        try await self.devTools("Page.addScriptToEvaluateOnNewDocument", ["source": script])
    }

    /// Files that pages save go to a folder.
    func save(to folder: String) async throws {
        try await self.devTools(
            "Browser.setDownloadBehavior",
            ["behavior": "allow", "downloadPath": folder, "browserContextId": self.context])
    }

    // MARK: The window

    /// Opens another tab, and turns to it.
    func openTab() async throws -> String {
        let handle = try await self.shared.tab(in: self.context)
        try await self.turn(to: handle)
        return handle
    }

    var tab: String { get async throws { try await self.question("window").string ?? "" } }
    func turn(to tab: String) async throws { try await self.command("window", ["handle": tab]) }

    /// A window of another size; narrow ones as on a phone.
    func resize(width: Int, height: Int) async throws {
        try await self.devTools(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600])
    }

    /// From here on the page has the focus, whatever other windows do.
    func keepFocus() async throws { try await self.devTools("Emulation.setFocusEmulationEnabled", ["enabled": true]) }

    /// A person has said that pages may tell the system what comes.
    func allowNotifications() async throws {
        try await self.devTools(
            "Browser.grantPermissions",
            ["permissions": JSON.array([.string("notifications")]), "browserContextId": self.context])
    }

    func prefer(dark: Bool) async throws {
        let feature: Fields = ["name": "prefers-color-scheme", "value": dark ? "dark" : "light"]
        try await self.devTools("Emulation.setEmulatedMedia", ["features": JSON.array([feature.json])])
    }

    /// Shows the page as it would be printed, or as on a screen again.
    func print(_ prints: Bool) async throws {
        try await self.devTools("Emulation.setEmulatedMedia", ["media": prints ? "print" : ""])
    }

    /// The page printed, as PDF.
    func paper() async throws -> [UInt8] {
        let answer = try await self.devTools("Page.printToPDF", ["preferCSSPageSize": true])
        guard let paper = answer["data"]?.string.flatMap({ Data(base64Encoded: $0) }) else {
            throw Refused(description: "no paper")
        }
        return Array(paper)
    }

    /// The whole page as PNG, or what of it is in the window.
    func picture(beyondWindow: Bool = true) async throws -> Data {
        let answer = try await self.devTools("Page.captureScreenshot", ["captureBeyondViewport": beyondWindow])
        guard let picture = answer["data"]?.string.flatMap({ Data(base64Encoded: $0) }) else {
            throw Refused(description: "no picture")
        }
        return picture
    }

    // MARK: -

    /// Returns when the element is visible, or the list of which it is an option.
    private func shown(_ selector: String) async throws -> String {
        let script = """
            const element = document.querySelector(arguments[0]);
            return Boolean((element?.closest('select') ?? element)?.checkVisibility());
            """
        let question: Fields = ["script": script, "args": JSON.array([.string(selector)])]
        try await waitUntil("\(selector) is visible", within: .seconds(30), every: .milliseconds(50)) {
            try await self.command("execute/sync", question) == .bool(true)
        }
        return try await self.element(selector)
    }

    private func element(_ selector: String) async throws -> String {
        let found = try await self.command("element", ["using": "css selector", "value": selector])
        guard let id = found[Self.elementKey]?.string else { throw Refused(description: found.text) }
        return id
    }

    @discardableResult
    private func devTools(_ command: String, _ parameters: Fields) async throws -> JSON {
        try await self.command("goog/cdp/execute", ["cmd": command, "params": parameters.json])
    }

    @discardableResult
    private func command(_ path: String, _ fields: Fields) async throws -> JSON {
        try await self.session.command(path, fields)
    }

    private func question(_ path: String) async throws -> JSON { try await self.session.question(path) }
}
