import ArgumentParser
import Foundation
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

    func validate() throws {
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
    var daemonSocket: String {
        let folder = self.folder
        return folder.dropLast(self.profile.count) + "." + self.profile + ".socket"
    }

    /// A core on the profile's server, with its own or the given address and certificates.
    /// - Throws: `CoreError`, `ProfileError`, or a `Problem` with the address.
    func core(
        server: String? = nil, authorityFile: String? = nil, key: [UInt8]? = nil,
        logLevel: CoreConfiguration.LogLevel? = nil
    ) throws -> Core {
        var (server, authority) = (server, authorityFile)
        if Profile.exists(at: self.folder) {
            let profile = try Profile.open(at: self.folder, key: key.flatMap { StoreKey(.raw, $0) })
            defer { profile.close() }
            server = try server ?? profile.store.server().map { "\($0)" }
            authority = try authority ?? profile.store.authorityFile()
        }
        let address = server ?? "\(ServerAddress.local)"
        guard ServerAddress(address) != nil else {
            throw Problem("\"\(address)\" is no server address. It looks like wss://chat.example.")
        }
        let configuration = CoreConfiguration(
            folder: self.folder, server: address, authorityFile: authority, logLevel: logLevel)
        return try Core.open(configuration, key: key)
    }

    /// `$HOME` comes first, as for every program; Foundation asks the password database first.
    private static func homeFolder(_ environment: [String: String]) -> String {
        guard let home = environment["HOME"], !home.isEmpty else { return NSHomeDirectory() }
        return home
    }

    func open(key: StoreKey? = nil) throws -> Profile {
        do throws(ProfileError) {
            return try Profile.open(at: self.folder, key: key)
        } catch {
            throw self.problem(error)
        }
    }

    /// A client on the profile's server, not running yet.
    func client(_ profile: Profile) throws -> WhisperClient {
        let server = try profile.store.server() ?? .local
        let link: NetworkLink
        do throws(LinkError) {
            link = try NetworkLink(server, authorityFile: try? profile.store.authorityFile())
        } catch {
            throw Problem("Cannot use \(server): \(error).")
        }
        return try WhisperClient(profile: profile, server: link, logger: Self.logger)
    }

    func problem(_ error: ProfileError) -> Problem {
        let flag = self.profile == "default" ? "" : " --profile \(self.profile)"
        return switch error {
        case .missing: Problem("There is no identity here yet. Make one with `whisper init\(flag)`.")
        case .exists: Problem("The profile \"\(self.profile)\" exists already. Choose another with --profile NAME.")
        case .inUse(_): Problem("Another whisper is running with the profile \"\(self.profile)\". Leave it first.")
        case .wrongKey: Problem("The profile \"\(self.profile)\" is sealed with a key that this command does not have.")
        case .notADatabase: Problem("The store of the profile \"\(self.profile)\" is no database.")
        case .tooNew: Problem("A later release has written the profile \"\(self.profile)\".")
        case .unusable(let why): Problem("The profile cannot be used: \(why).")
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
    @Option(help: "Address of the server, ws:// or wss://.")
    var server = "\(ServerAddress.local)"

    @Option(name: .customLong("ca"), help: "PEM file with certificates to trust beside the system's, for wss://.")
    var authorityFile: String?

    func address() throws -> ServerAddress {
        guard let address = ServerAddress(self.server) else {
            throw Problem(
                "\"\(self.server)\" is no server address. It looks like wss://chat.example or ws://127.0.0.1:8080.")
        }
        return address
    }
}
