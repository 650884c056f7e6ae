import LocalStack
import TestKit
import Testing

/// The running Chromium of a suite or of a test.
struct SharedBrowser {
    @TaskLocal static var running: SharedBrowser?

    let chromium: Chromium
    /// Stays at a page of the browser's own, the only one that may speak with all of it: sessions of the driver speak
    /// with pages.
    private let keeper: WebDriver

    /// While `body` runs, each window is of the same Chromium.
    static func run(_ body: () async throws -> Void) async throws {
        let folder = try TemporaryFolder(named: "browser")
        defer { folder.remove() }
        let chromium = Chromium(folder: folder.path)
        do {
            try await chromium.start()
            let keeper = try await WebDriver.open(port: chromium.port, devToolsPort: chromium.devToolsPort)
            try await keeper.command("url", ["url": "http://127.0.0.1:\(chromium.devToolsPort)/json/version"])
            let shared = SharedBrowser(chromium: chromium, keeper: keeper)
            try await Self.$running.withValue(shared) { try await body() }
        } catch {
            await chromium.stop()
            throw error
        }
        await chromium.stop()
    }

    /// A session of the driver in a new window. Its context is new, too: cookies, storage, cache and permissions of its
    /// own, as in a browser on another computer.
    func window() async throws -> (session: WebDriver, context: String) {
        guard let context = try await self.devTools("Target.createBrowserContext", [:])["browserContextId"]?.string
        else { throw WebDriver.Refused(description: "no context") }
        let tab = try await self.tab(in: context, ["width": 1_280, "height": 900])
        let session = try await WebDriver.open(port: self.chromium.port, devToolsPort: self.chromium.devToolsPort)
        try await session.command("window", ["handle": tab])
        return (session, context)
    }

    /// The driver's name for a new tab.
    /// - Parameter size: of the window, in CSS pixels. The first tab of a context opens one.
    func tab(in context: String, _ size: Fields = [:]) async throws -> String {
        let wish: Fields = ["url": "about:blank", "browserContextId": context]
        return try await self.devTools("Target.createTarget", wish.with(size))["targetId"]?.string ?? ""
    }

    /// The pages and workers of a context.
    func targets(of context: String) async throws -> Set<String> {
        let targets = try await self.devTools("Target.getTargets", [:])["targetInfos"]?.elements ?? []
        return Set(targets.filter { $0["browserContextId"]?.string == context }.compactMap { $0["targetId"]?.string })
    }

    /// Forgets everything of a context, and closes its windows.
    func close(context: String) async {
        _ = try? await self.devTools("Target.disposeBrowserContext", ["browserContextId": context])
    }

    /// A command to the browser itself (Chrome DevTools Protocol).
    private func devTools(_ method: String, _ parameters: Fields) async throws -> JSON {
        try await self.keeper.asyncValue(
            of: """
                const { webSocketDebuggerUrl } = await (await fetch("/json/version")).json();
                return new Promise((done, fail) => {
                    const [method, params] = args;
                    const socket = new WebSocket(webSocketDebuggerUrl);
                    socket.onerror = () => fail(new Error("the browser takes no connection"));
                    socket.onopen = () => socket.send(JSON.stringify({ id: 1, method, params }));
                    socket.onmessage = ({ data }) => {
                        const { id, result, error } = JSON.parse(data);
                        if (id !== 1) return;
                        socket.close();
                        if (error) fail(new Error(error.message));
                        else done(result);
                    };
                });
                """, [.string(method), parameters.json])
    }
}

/// One Chromium for all tests of a suite, from its first to its last. Each window has a context of its own.
struct BrowserTrait: SuiteTrait, TestScoping {
    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await SharedBrowser.run { try await function() }
    }
}

extension Trait where Self == BrowserTrait {
    static var browser: BrowserTrait { BrowserTrait() }
}
