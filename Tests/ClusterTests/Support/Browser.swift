import Foundation
import LocalStack
import TestKit

/// One window of a real browser (W3C WebDriver).
struct Browser {
    /// Of the session, without its commands.
    private let url: String

    /// The command was refused: no such element, a page that does not come.
    struct Refused: Error, CustomStringConvertible {
        var description: String
    }

    /// The driver's name for an element (WebDriver, 11).
    private static let elementKey = "element-6066-11e4-a52e-4f735466cecf"
    /// Starting a browser on a machine with other things to do takes its time.
    private static let timeout = 60

    /// - Parameter size: of the window, in CSS pixels.
    static func open(on driver: ChromeDriver, width: Int = 1_280, height: Int = 900) async throws -> Browser {
        let options: Fields = [
            // A browser that is started as root wants no sandbox; the pipe ends it with its driver.
            "args": [
                "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
                "--no-first-run",
                "--remote-debugging-pipe", "--user-data-dir=\(driver.profile)", "--window-size=\(width),\(height)",
            ],
            "binary": "/usr/bin/chromium",
        ]
        let always: Fields = [
            "browserName": "chrome", "goog:chromeOptions": options.json,
            "goog:loggingPrefs": (["browser": "ALL"] as Fields).json,
        ]
        let root = "http://127.0.0.1:\(driver.port)/session"
        let wish: Fields = ["capabilities": (["alwaysMatch": always.json] as Fields).json]
        let answer = try await Self.ask("POST", root, wish.json)
        guard let id = answer["sessionId"]?.string else { throw Refused(description: answer.text) }
        return Browser(url: "\(root)/\(id)")
    }

    func close() async { _ = try? await Self.ask("DELETE", self.url, nil) }

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

    /// What a script in the page returns.
    func value(of script: String) async throws -> JSON {
        try await self.command("execute/sync", ["script": script, "args": [JSON]()])
    }

    /// The value of a cookie, also of one that pages cannot see.
    func cookie(_ name: String) async throws -> JSON { try await self.question("cookie/\(name)") }

    /// What the browser had to complain of since it was asked last: broken rules, missing files. Not the answers' own status.
    func complaints() async throws -> [String] {
        try await self.command("se/log", ["type": "browser"]).elements
            .filter { $0["level"]?.string == "SEVERE" && $0["source"]?.string != "network" }.map(\.text)
    }

    // MARK: Doing

    func click(_ selector: String) async throws {
        try await self.command("element/\(try await self.element(selector))/click", [:])
    }

    func type(_ text: String, into selector: String) async throws {
        let element = try await self.element(selector)
        try await self.command("element/\(element)/clear", [:])
        try await self.command("element/\(element)/value", ["text": text])
    }

    // MARK: The window

    /// A window of another size; narrow ones as on a phone.
    func resize(width: Int, height: Int) async throws {
        try await self.devTools(
            "Emulation.setDeviceMetricsOverride",
            ["width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600])
    }

    func prefer(dark: Bool) async throws {
        let feature: Fields = ["name": "prefers-color-scheme", "value": dark ? "dark" : "light"]
        try await self.devTools("Emulation.setEmulatedMedia", ["features": JSON.array([feature.json])])
    }

    /// The whole page as PNG.
    func picture() async throws -> Data {
        let answer = try await self.devTools("Page.captureScreenshot", ["captureBeyondViewport": true])
        guard let picture = answer["data"]?.string.flatMap({ Data(base64Encoded: $0) }) else {
            throw Refused(description: "no picture")
        }
        return picture
    }

    // MARK: -

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
        try await Self.ask("POST", "\(self.url)/\(path)", fields.json)
    }

    private func question(_ path: String) async throws -> JSON { try await Self.ask("GET", "\(self.url)/\(path)", nil) }

    private static func ask(_ method: String, _ url: String, _ body: JSON?) async throws -> JSON {
        var call = HTTPCall(method, url, body: Array((body?.text ?? "").utf8))
        call.timeout = self.timeout
        let answer = try await call.answer()
        let value = answer.json["value"] ?? .null
        guard answer.status == 200 else {
            throw Refused(description: "\(url): \(value["message"]?.string ?? "\(answer.status)")")
        }
        return value
    }
}
