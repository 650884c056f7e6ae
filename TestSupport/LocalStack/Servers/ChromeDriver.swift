import Foundation

/// A real browser without a window, driven over HTTP as the W3C's WebDriver has it.
package actor ChromeDriver {
    package nonisolated let port: Int
    /// The browser's profile, its own for each test.
    package nonisolated let profile: String
    private nonisolated let log: String
    private var process: ChildProcess?

    private static let program = "/usr/bin/chromedriver"

    /// - Parameter folder: gets profile and log.
    package init(folder: String, port: Int = LoopbackPort.free()) {
        self.port = port
        self.profile = folder + "/profile"
        self.log = folder + "/chromedriver.log"
    }

    /// Returns when it takes connections.
    package func start() async throws {
        let process = try await ChildProcess.start(
            Command(Self.program, ["--port=\(self.port)"], log: self.log), name: "chromedriver")
        self.process = process
        try await process.becomeReady { !LoopbackPort.isFree(self.port) }
    }

    /// What it and its browsers have used so far, in steps of 10 ms.
    package func cpu() -> Duration {
        self.process?.cpu ?? .zero
    }

    /// Ends it, and every browser with it.
    package func stop() async {
        // The browsers are of its group, and end with the pipe that they are driven by.
        await self.process?.stop(timeout: .seconds(5))
        self.process = nil
    }
}
