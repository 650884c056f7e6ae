import TestKit

/// One session of a driver of browsers (W3C WebDriver).
struct WebDriver {
    /// The session's address, without its commands.
    private let url: String

    /// The command was refused: no such element, a page that does not come.
    struct Refused: Error, CustomStringConvertible {
        var description: String
    }

    /// Starting a browser on a machine with other things to do takes its time.
    private static let timeout = 60

    /// A session of its own with a browser that runs. It begins in any of the browser's windows.
    /// - Parameters:
    ///   - port: of the driver.
    ///   - devToolsPort: of the browser.
    static func open(port: Int, devToolsPort: Int) async throws -> WebDriver {
        let always: Fields = [
            "browserName": "chrome",
            "goog:chromeOptions": (["debuggerAddress": "127.0.0.1:\(devToolsPort)"] as Fields).json,
            "goog:loggingPrefs": (["browser": "ALL", "performance": "ALL"] as Fields).json,
        ]
        let root = "http://127.0.0.1:\(port)/session"
        let wish: Fields = ["capabilities": (["alwaysMatch": always.json] as Fields).json]
        let answer = try await Self.ask("POST", root, wish.json)
        guard let id = answer["sessionId"]?.string else { throw Refused(description: answer.text) }
        return WebDriver(url: "\(root)/\(id)")
    }

    /// Ends the session. The browser and its windows stay.
    func close() async { _ = try? await Self.ask("DELETE", self.url, nil) }

    @discardableResult
    func command(_ path: String, _ fields: Fields) async throws -> JSON {
        try await Self.ask("POST", "\(self.url)/\(path)", fields.json)
    }

    func question(_ path: String) async throws -> JSON { try await Self.ask("GET", "\(self.url)/\(path)", nil) }

    /// The value that an asynchronous function in the page returns. `script` is its body, `args` are its arguments.
    func asyncValue(of script: String, _ args: [JSON]) async throws -> JSON {
        let call = """
            const [args, done] = [[...arguments].slice(0, -1), arguments[arguments.length - 1]];
            (async () => { \(script) })().then((value) => done({ value }), (error) => done({ error: `${error.stack}` }));
            """
        let answer = try await self.command("execute/async", ["script": call, "args": args])
        if let error = answer["error"]?.string { throw Refused(description: error) }
        return answer["value"] ?? .null
    }

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
