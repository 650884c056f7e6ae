import Foundation
import LocalStack
import Testing

/// `make run`, from outside: the program itself, with real processes.
@Suite struct LocalClusterTests {
    /// One started `whisper-local` with ports and a data folder of its own.
    private struct Run {
        let folder: TemporaryFolder
        let port = LoopbackPort.free()
        let opsPort = LoopbackPort.free()
        let turnPort = LoopbackPort.free()

        init() throws { self.folder = try TemporaryFolder(named: "run") }

        var data: String { self.folder.path + "/data" }
        /// Where the two clients live that prove it.
        var conversation: String { self.data + "/conversation" }
        var log: String { self.folder.path + "/output" }
        var output: String { (try? String(contentsOfFile: self.log, encoding: .utf8)) ?? "" }

        func start(_ settings: [String: String] = [:], log: String? = nil) async throws -> ChildProcess {
            let environment = [
                "PORT": "\(self.port)", "OPS_PORT": "\(self.opsPort)", "TURN_PORT": "\(self.turnPort)",
                "DATA_DIR": self.data,
            ]
            return try await ChildProcess.start(
                Command(
                    StackConfiguration.programsBesideThisOne + "/whisper-local",
                    environment: environment.merging(settings) { $1 }, log: log ?? self.log),
                name: "whisper-local")
        }

        /// Waits for the line that says how to stop it.
        func waitUntilItServes(_ process: ChildProcess) async throws {
            try await waitUntil("the cluster serves", within: .seconds(120)) {
                guard process.isRunning else { return true }
                return self.output.contains("Ctrl-C stops everything.")
            }
            try #require(process.isRunning, "\(self.output)")
        }

        /// Processes that work in the data folder: all of the cluster do.
        var processes: [String] {
            let pids = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
            return pids.filter { pid in
                let folder = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(pid)/cwd")
                return folder?.hasPrefix(self.data) ?? false
            }
        }
    }

    @Test(.long) func nothingIsLeftWhenItIsInterrupted() async throws {
        let run = try Run()
        let process = try await run.start()
        try await run.waitUntilItServes(process)
        #expect(await LoopbackRequest.get("/ready", port: run.opsPort)?.status == 200)
        #expect(await LoopbackRequest.get("/ops/router/2/health", port: run.opsPort)?.status == 200)
        // Postgres with its children, Redis, eight services, HAProxy.
        #expect(run.processes.count > 10)
        // The two who proved it are gone.
        #expect(!FileManager.default.fileExists(atPath: run.conversation))
        #expect(await process.stop(with: .interrupt, timeout: .seconds(60)) == .exited(0))
        #expect(run.processes.isEmpty)
        run.folder.remove()
    }

    /// A newcomer's first step: opening the link that is printed in the terminal.
    @Test func theLinkThatIsPrintedOpensALiveConversation() async throws {
        let run = try Run()
        let process = try await run.start()
        try await run.waitUntilItServes(process)
        let link = try #require(run.output.firstMatch(of: #/http:\S+/listen/\S+#\S+/#), "\(run.output)").0
        try await Browser.open { browser in
            let page = try await ListenerPage.open(String(link), in: browser)
            try await page.join(as: "Zoë")
            try await page.reaches("connected")
            try await waitUntil("a key is seen", within: .seconds(30)) { try await !page.live.isEmpty }
            try await waitUntil("a line is complete", within: .seconds(30)) { try await !page.lines.isEmpty }
            try await browser.click("#attention")
            try await waitUntil("the hand is seen", within: .seconds(60)) {
                try await page.lines.contains { $0.hasSuffix("I see your hand, Zoë.") }
            }
            #expect(await process.stop(with: .interrupt, timeout: .seconds(60)) == .exited(0))
            // The next run has the same link, and the page finds its way back by itself.
            let next = try await run.start(log: run.folder.path + "/next")
            try await page.reaches("connected", within: .seconds(120))
            let before = try await page.lines.count
            try await waitUntil("the story goes on", within: .seconds(60)) { try await page.lines.count > before }
            #expect(await next.stop(with: .interrupt, timeout: .seconds(60)) == .exited(0))
        }
        run.folder.remove()
    }

    @Test func anInterruptedConversationLeavesNoFolder() async throws {
        let run = try Run()
        let process = try await run.start()
        try await waitUntil("the two have met", within: .seconds(120)) {
            !process.isRunning || run.output.contains("alice registered as")
        }
        #expect(await process.stop(with: .interrupt, timeout: .seconds(60)) == .exited(0), "\(run.output)")
        #expect(run.output.contains("alice registered as"))
        #expect(!FileManager.default.fileExists(atPath: run.conversation))
        // Nor does a process that was killed, once the next one has run.
        try FileManager.default.createDirectory(atPath: run.conversation + "/alice", withIntermediateDirectories: true)
        let next = try await run.start(["CHECK": "1"])
        #expect(await next.end() == .exited(0), "\(run.output)")
        #expect(!FileManager.default.fileExists(atPath: run.conversation))
        run.folder.remove()
    }

    @Test func nothingIsLeftWhenItIsKilled() async throws {
        let run = try Run()
        let process = try await run.start()
        try await run.waitUntilItServes(process)
        process.signal(.kill)
        await process.end()
        try await waitUntil("everything has died", within: .seconds(20)) { run.processes.isEmpty }
        // The next run starts with the files that the killed one left on disk.
        let next = try await run.start(["CHECK": "1"])
        #expect(await next.end() == .exited(0), "\(run.output)")
        run.folder.remove()
    }

    @Test func itStartsAgainWhatSomebodyKills() async throws {
        let run = try Run()
        let process = try await run.start()
        try await run.waitUntilItServes(process)
        let victims = run.processes.filter { pid in
            let name = (try? String(contentsOfFile: "/proc/\(pid)/comm", encoding: .utf8)) ?? ""
            return ["redis-server", "haproxy"].contains(name.trimmingCharacters(in: .newlines))
        }
        #expect(victims.count == 2)
        for pid in victims { kill(pid_t(pid)!, SIGKILL) }
        try await waitUntil("both are back", within: .seconds(60)) {
            run.output.contains("redis ended (signal 9)") && run.output.contains("haproxy ended (signal 9)")
        }
        try await waitUntil("the cluster is ready", within: .seconds(60)) {
            await LoopbackRequest.get("/ready", port: run.opsPort)?.status == 200
        }
        #expect(await process.stop(timeout: .seconds(60)) == .exited(0))
        run.folder.remove()
    }

    @Test func aSecondOneIsRefused() async throws {
        let run = try Run()
        let process = try await run.start()
        try await run.waitUntilItServes(process)
        let second = run.folder.path + "/second"
        let sameFolder = ["PORT": "\(LoopbackPort.free())", "OPS_PORT": "\(LoopbackPort.free())"]
        #expect(await (try run.start(sameFolder, log: second)).end() == .exited(1))
        let samePort = ["OPS_PORT": "\(LoopbackPort.free())", "DATA_DIR": run.folder.path + "/other"]
        #expect(await (try run.start(samePort, log: second)).end() == .exited(1))
        let words = try String(contentsOfFile: second, encoding: .utf8)
        #expect(words.contains("another cluster runs in"))
        #expect(words.contains("port \(run.port) is taken"))
        #expect(await process.stop(timeout: .seconds(60)) == .exited(0))
        run.folder.remove()
    }

    @Test(arguments: [
        ["PORT": "0"], ["OPS_PORT": "http"], ["GATEWAYS": "0"], ["ROUTERS": "17"], ["RATE_LIMIT_SCALE": "0"],
        ["CHECK": "yes"], ["ADMIN_TOKEN": "a", "VIEWER_TOKEN": "a"],
    ])
    func aSettingThatCannotBeUsedStopsIt(settings: [String: String]) async throws {
        let run = try Run()
        #expect(await (try run.start(settings)).end() == .exited(1))
        #expect(run.output.contains("cannot be used"))
        run.folder.remove()
    }
}
