import ArgumentParser
import FoundationEssentials
import Glibc
import Logging
import TerminalText
import WhisperClient
import WhisperCore

/// Which identity a command speaks for.
struct ProfileOptions: ParsableArguments {
    @Option(name: .shortAndLong, help: "The identity to use; a name of your choice.")
    var profile = "default"

    @Option(help: ArgumentHelp("Folder of all profiles.", discussion: "Default: $WHISPER_HOME, else $HOME/.whisper."))
    var home: String?

    @Flag(help: "Lines and words only, for screen readers. So it is with TERM=dumb.")
    var plain = false

    func validate() throws {
        // Before anything is drawn. Terminals have this name for it, which all parts of the program ask.
        if self.plain { setenv("TERM", Style.plainTerminal, 1) }
        guard !self.profile.isEmpty, !self.profile.hasPrefix("."), !self.profile.contains("/") else {
            throw ValidationError("A profile name has no slash and does not start with a dot.")
        }
    }

    var folder: String {
        let environment = ProcessInfo.processInfo.environment
        let home = self.home ?? environment["WHISPER_HOME"] ?? Self.homeFolder(environment) + "/.whisper"
        return home + "/" + self.profile
    }

    /// Where a daemon of the profile listens for other commands. No profile has such a name.
    var daemonSocket: String { self.besideProfile("socket") }

    /// Where the address of the profile's page is kept.
    var doorFile: String { self.besideProfile("door") }

    private func besideProfile(_ ending: String) -> String {
        "\(self.folder.dropLast(self.profile.count)).\(self.profile).\(ending)"
    }

    /// A core on the profile's server, with its own or the given address and certificates, and with the key beside its store, or
    /// the passphrase of a person at the terminal, if none is given.
    /// - Throws: `CoreError`, `ProfileError`, or a `Problem` with the address.
    func core(
        as client: CoreConfiguration.Client = .terminal, server: String? = nil, authorityFile: String? = nil,
        key: [UInt8]? = nil,
        logLevel: CoreConfiguration.LogLevel? = nil
    ) throws -> Core {
        var (server, authority) = (server, authorityFile)
        let secret = try key.map { Secret(kind: .raw, bytes: $0) } ?? self.secret()
        if Profile.exists(at: self.folder) {
            let profile = try Profile.open(at: self.folder, key: secret?.key)
            defer { profile.close() }
            server = try server ?? profile.store.settings.server().map { "\($0)" }
            authority = try authority ?? profile.store.settings.authorityFile()
        }
        let address = server ?? "\(ServerAddress.local)"
        guard ServerAddress(address) != nil else {
            throw Problem("\"\(address)\" is no server address. It looks like wss://chat.example.")
        }
        let configuration = CoreConfiguration(
            folder: self.folder, server: address, authorityFile: authority, client: client,
            keyKind: secret?.kind == .passphrase ? .passphrase : .raw, logLevel: logLevel)
        return try Core.open(configuration, key: secret?.bytes)
    }

    /// The core of a window, which asks for the passphrase of the store.
    /// - Parameters: as of `core`. The store has others.
    func waitingCore(server: String?, authorityFile: String?) throws -> Core {
        let address = server ?? "\(ServerAddress.local)"
        guard ServerAddress(address) != nil else {
            throw Problem("\"\(address)\" is no server address. It looks like wss://chat.example.")
        }
        return try Core.waiting(
            CoreConfiguration(
                folder: self.folder, server: address, authorityFile: authorityFile, client: .desktop,
                keyKind: .passphrase))
    }

    /// The key of a sealed store, as a host gives it.
    private struct Secret {
        var kind: StoreKey.Kind
        var bytes: [UInt8]

        var key: StoreKey? { StoreKey(self.kind, self.bytes) }
    }

    /// - Returns: `nil` if the store is plain, or its key is elsewhere.
    private func secret() throws -> Secret? {
        guard Profile.keyKind(of: self.folder) == .passphrase else {
            return try KeyFile.beside(self.folder).map { Secret(kind: .raw, bytes: $0) }
        }
        // Standard input of a command without a terminal is for something else.
        guard isatty(STDIN_FILENO) == 1,
            let line = readHiddenLine("Passphrase of the profile \"\(self.profile)\": ")
        else { throw ProfileError.wrongKey }
        return Secret(kind: .passphrase, bytes: Array(line.utf8))
    }

    /// Runs a command with the core that serves the profile: that of a daemon if one listens, else one in this process, which
    /// ends with the command.
    /// - Parameter key: seals the store of a core in this process. A daemon has it already.
    /// - Throws: what `body` throws; `CoreError`, `ProfileError` or a `Problem` if there is no core.
    func reach<Value: Sendable>(
        key: [UInt8]? = nil, _ body: (CoreClient) async throws -> Value
    ) async throws -> Value {
        // A daemon that ends meanwhile is an error, not the end of this process.
        signal(SIGPIPE, SIG_IGN)
        if let daemon = CoreClient.connected(to: self.daemonSocket) {
            defer { daemon.close() }
            try await daemon.learnStatus()
            return try await body(daemon)
        }
        let core = try self.core(key: key, logLevel: Self.logLevel)
        core.leaveEventsToSeats()
        do {
            guard let seat = core.seat(), let client = CoreClient.served(by: core, at: seat) else {
                throw Problem("This process has too many open files.")
            }
            defer { client.close() }
            let value = try await body(client)
            await core.close()
            return value
        } catch {
            await core.close()
            throw error
        }
    }

    /// The same for commands of a person.
    /// - Parameter connects: whether a core in this process connects first. A daemon does so when one of its programs asks.
    /// - Throws: what `body` throws, or a `Problem`.
    func talk<Value: Sendable>(
        connects: Bool = true, _ body: (CoreClient) async throws -> Value
    ) async throws -> Value {
        do {
            return try await self.reach { core in
                if connects { try await core.connectIfHere() }
                return try await body(core)
            }
        } catch let refusal as CoreClient.Refusal {
            switch CoreError.Code(rawValue: refusal.code) {
            case .noIdentity: throw self.problem(.missing)
            case .suspended:
                throw Problem("Whisper waits for the passphrase of \"\(self.profile)\". Enter it in its window.")
            default: throw Problem(refusal.words)
            }
        } catch let error as ProfileError {
            throw self.problem(error)
        } catch let error as CoreError {
            throw self.problem(error)
        }
    }

    func problem(_ error: CoreError) -> Problem {
        error.code == .locked ? self.inUse(by: error.pid) : Problem(error.message)
    }

    private func inUse(by process: Int?) -> Problem {
        let profile = "the profile \"\(self.profile)\""
        guard let process else { return Problem("Another whisper is using \(profile). Leave it first.") }
        let words = FileManager.default.contents(atPath: "/proc/\(process)/cmdline")?.split(separator: 0) ?? []
        guard words.contains(where: { $0.elementsEqual("daemon".utf8) }) else {
            return Problem("Another whisper (process \(process)) is using \(profile). Leave it first.")
        }
        return Problem(
            "A daemon (process \(process)) is using \(profile), and does not listen at \(self.daemonSocket). "
                + "End it with `kill \(process)` first.")
    }

    /// `$HOME` comes first, as for every program; the password database is asked without it.
    private static func homeFolder(_ environment: [String: String]) -> String {
        if let home = environment["HOME"], !home.isEmpty { return home }
        return getpwuid(getuid())?.pointee.pw_dir.map { String(cString: $0) } ?? "/"
    }

    func open(key: StoreKey? = nil) throws -> Profile {
        let key = try key ?? self.secret()?.key
        do throws(ProfileError) {
            return try Profile.open(at: self.folder, key: key)
        } catch {
            throw self.problem(error)
        }
    }

    /// A client on the profile's server, not running yet.
    func client(_ profile: Profile) throws -> WhisperClient {
        let server = try profile.store.settings.server() ?? .local
        let link: NetworkLink
        do throws(LinkError) {
            link = try NetworkLink(server, authorityFile: try? profile.store.settings.authorityFile())
        } catch {
            throw Problem("Cannot use \(server): \(error).")
        }
        return try WhisperClient(
            profile: profile, server: link, installation: Installation(kind: .terminal), logger: Self.logger)
    }

    func problem(_ error: ProfileError) -> Problem {
        let flag = self.profile == "default" ? "" : " --profile \(self.profile)"
        return switch error {
        case .missing: Problem("There is no identity here yet. Make one with `whisper init\(flag)`.")
        case .exists: Problem("The profile \"\(self.profile)\" exists already. Choose another with --profile NAME.")
        case .inUse(let process): self.inUse(by: process)
        case .wrongKey where Profile.keyKind(of: self.folder) == .passphrase:
            Problem(
                "The profile \"\(self.profile)\" is sealed with a passphrase, and this command did not get the right one. "
                    + "Open it with `whisper app`, or run the command at a terminal.")
        case .wrongKey: Problem("The profile \"\(self.profile)\" is sealed with a key that this command does not have.")
        case .notADatabase: Problem("The store of the profile \"\(self.profile)\" is no database.")
        case .tooNew: Problem("A later release has written the profile \"\(self.profile)\".")
        case .unusable(let why): Problem("The profile cannot be used: \(why).")
        case .damaged(let why):
            Problem(
                "The profile \"\(self.profile)\" is damaged: in \(self.folder), \(why). Nothing was changed. "
                    + "Put a copy back, or choose another profile with --profile NAME.")
        }
    }

    /// Silent unless asked: log lines would tear the screen.
    private static var logLevel: CoreConfiguration.LogLevel? {
        ProcessInfo.processInfo.environment["WHISPER_LOG"].flatMap { .init(rawValue: $0) }
    }

    private static var logger: Logger {
        var logger = Logger(label: "whisper") { StreamLogHandler.standardError(label: $0) }
        logger.logLevel = Self.logLevel.flatMap { .init(rawValue: $0.rawValue) } ?? .critical
        return logger
    }
}

/// Where the server is; kept in the profile.
struct ServerOptions: ParsableArguments {
    @Option(
        help: "Address of the server, ws:// or wss://. Default: that of the invitation, else \(ServerAddress.local).")
    var server: String?

    @Option(name: .customLong("ca"), help: "PEM file with certificates to trust beside the system's, for wss://.")
    var authorityFile: String?

    /// - Parameter invited: the server of an invitation.
    func address(invited: ServerAddress? = nil) throws -> ServerAddress {
        guard let server = self.server else { return invited ?? .local }
        guard let address = ServerAddress(server) else {
            throw Problem(
                "\"\(server)\" is no server address. It looks like wss://chat.example or ws://127.0.0.1:8080.")
        }
        guard invited == nil || invited == address else {
            throw Problem(harmlessLine("The invitation is for \(invited ?? address), and --server says \(address)."))
        }
        return address
    }
}
