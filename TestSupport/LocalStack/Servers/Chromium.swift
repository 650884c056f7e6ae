import Foundation

/// A real browser without a window on any screen, and the driver that works it over HTTP as the W3C's WebDriver has it.
package actor Chromium {
    /// The driver's.
    package nonisolated let port: Int
    /// The browser's own, for the Chrome DevTools Protocol.
    package nonisolated let devToolsPort: Int
    private nonisolated let folder: String
    private var processes: [ChildProcess] = []

    /// A browser that root starts wants no sandbox. A page that asks for camera and microphone gets some that are not
    /// there. Pages of the address bar are left out: each window would load two of them.
    private nonisolated var switches: [String] {
        [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-extensions",
            "--enable-automation", "--no-first-run", "--password-store=basic", "--disable-sync",
            "--disable-default-apps", "--disable-background-networking", "--disable-component-update",
            "--disable-popup-blocking", "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
            "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup", "--user-data-dir=\(self.folder)/profile",
            "--remote-debugging-port=\(self.devToolsPort)",
            "--remote-allow-origins=http://127.0.0.1:\(self.devToolsPort)",
        ]
    }

    /// - Parameter folder: gets profile and logs.
    package init(folder: String) {
        self.port = LoopbackPort.free()
        self.devToolsPort = LoopbackPort.free()
        self.folder = folder
    }

    /// Returns when both take connections.
    package func start() async throws {
        let browser = try await self.start("chromium", self.switches)
        let driver = try await self.start("chromedriver", ["--port=\(self.port)"])
        try await browser.becomeReady { !LoopbackPort.isFree(self.devToolsPort) }
        try await driver.becomeReady { !LoopbackPort.isFree(self.port) }
    }

    private func start(_ name: String, _ arguments: [String]) async throws -> ChildProcess {
        let process = try await ChildProcess.start(
            Command("/usr/bin/\(name)", arguments, log: "\(self.folder)/\(name).log"), name: name)
        self.processes.append(process)
        return process
    }

    /// Processor time of both so far, in steps of 10 ms.
    package func cpu() -> Duration {
        self.processes.reduce(.zero) { $0 + $1.cpu }
    }

    /// Ends both.
    package func stop() async {
        for process in self.processes.reversed() { await process.stop(timeout: .seconds(5)) }
        self.processes = []
    }
}
