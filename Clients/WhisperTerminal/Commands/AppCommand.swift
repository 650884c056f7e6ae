import ArgumentParser
import Contract
import Dispatch
import FoundationEssentials
import Glibc
import TerminalText
import WhisperClient
import WhisperCore

struct AppCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app", abstract: "Open Whisper in the browser.",
        discussion: """
            The page belongs to a daemon on this machine, and nobody else can open it. The daemon of the profile is taken if it
            runs. Else this command is the daemon, until Ctrl-C, \"Quit\" in the page, or `whisper app --stop`.
            """)

    @OptionGroup var options: ProfileOptions
    @Option(help: "Address of the server, ws:// or wss://. Default: the profile's; the page asks if there is none.")
    var server: String?
    @Option(name: .customLong("ca"), help: "PEM file with certificates to trust beside the system's, for wss://.")
    var authorityFile: String?
    @Flag(name: .customLong("no-browser"), help: "Start no browser. A terminal is shown the link.")
    var isWithoutBrowser = false
    @Flag(name: .customLong("detach"), help: "Leave the terminal.") var isDetached = false
    @Option(
        help:
            "Keep the page's address from one start to the next, or draw a fresh one; auto asks whether others use this machine."
    )
    var address = AppAddress.Policy.auto
    @Flag(name: .customLong("stop"), help: "End the daemon of the profile.") var stops = false

    /// How long a daemon in the background may take to begin.
    private static let startWait = Duration.seconds(20)
    private static let lookEvery = Duration.milliseconds(50)

    func run() async throws {
        signal(SIGPIPE, SIG_IGN)
        if self.stops { return try self.stop() }
        if try await self.openRunning() { return }
        if self.isDetached { return try await self.detach() }
        try await self.serve()
    }

    private func stop() throws {
        guard let process = DaemonSocket.process(at: self.options.daemonSocket), process > 0 else {
            throw Problem("No daemon of the profile \"\(self.options.profile)\" runs.")
        }
        kill(process, SIGTERM)
    }

    /// - Returns: `false` if no daemon runs.
    private func openRunning() async throws -> Bool {
        guard let daemon = CoreClient.connected(to: self.options.daemonSocket) else { return false }
        defer { daemon.close() }
        do {
            guard case .object(let members) = JSONText(try await daemon.ask(AppHost.request)),
                let file = members.string("file")
            else { throw Problem("The daemon did not say where its page is.") }
            self.show(file)
            return true
        } catch let refusal as CoreClient.Refusal {
            throw Problem(refusal.message)
        }
    }

    /// Becomes the daemon, until it is told to end.
    private func serve() async throws {
        let core = try self.core()
        core.leaveEventsToSeats()
        let ended = Ended()
        let signals = [SIGTERM, SIGINT].map { ended.on($0) }
        let about = AppDoor.About(
            profile: self.options.profile, server: self.server ?? core.identity.map { _ in core.configuration.server },
            isOlder: false)
        let app = AppHost(core, about, self.address, keeping: self.options.doorFile) { ended.tell() }
        // Two daemons of one profile would each draw a key for it.
        guard let own = DaemonPrograms.ownSocket(of: self.options) else {
            await core.close()
            throw ExitCode(77)
        }
        defer { own.close() }
        let programs = DaemonPrograms(core: core, app: app, ended: ended)
        DispatchQueue(label: "whisper-daemon-own").async { programs.serve(own) }
        do {
            if core.identity != nil { _ = await core.perform("connect") }
            self.show(try await app.open())
            await ended.wait()
        } catch {
            await core.close()
            throw error
        }
        await app.close()
        await core.close()
        for source in signals { source.cancel() }
    }

    /// A profile that the page makes is sealed with a key beside it.
    private func core() throws -> Core {
        do {
            let folder = self.options.folder
            if Profile.keyKind(of: folder) == .passphrase {
                // The page asks for it.
                return try self.options.waitingCore(server: self.server, authorityFile: self.authorityFile)
            }
            let key = Profile.exists(at: folder) ? nil : try KeyFile.make(in: folder)
            return try self.options.core(as: .desktop, server: self.server, authorityFile: self.authorityFile, key: key)
        } catch let error as ProfileError {
            if case .inUse = error { throw self.inUse(self.options.problem(error)) }
            throw self.options.problem(error)
        } catch let error as CoreError {
            if error.code == .locked { throw self.inUse(self.options.problem(error)) }
            throw self.options.problem(error)
        }
    }

    private func inUse(_ problem: Problem) -> ExitCode {
        DaemonSession.write(Array("\(problem)\n".utf8), to: STDERR_FILENO)
        return ExitCode(77)
    }

    // MARK: The browser

    private func show(_ file: String) {
        if !self.isWithoutBrowser, ChildProcess.launch(["xdg-open", file]) { return }
        if isatty(STDOUT_FILENO) == 1, let link = AppLaunch.link(in: file) {
            print("Open this address within a minute: \(link)")
        } else {
            // The link is a secret, and a pipe may end in a log.
            print("Open this file in your browser within a minute: \(file)")
        }
        fflush(nil)
    }

    /// The daemon goes on without this terminal.
    private func detach() async throws {
        var words = [
            ChildProcess.ownProgram, "app", "--no-browser", "--profile", self.options.profile, "--address",
            self.address.rawValue,
        ]
        for (name, value) in [("--home", self.options.home), ("--server", self.server), ("--ca", self.authorityFile)] {
            if let value { words += [name, value] }
        }
        guard let process = ChildProcess.start(words) else { throw Problem("The daemon cannot be started.") }
        let deadline = ContinuousClock.now + Self.startWait
        while try await !self.openRunning() {
            guard waitpid(process, nil, WNOHANG) == 0, ContinuousClock.now < deadline else {
                throw Problem("The daemon has ended. Start it without --detach to see why.")
            }
            try await Task.sleep(for: Self.lookEvery)
        }
    }
}
