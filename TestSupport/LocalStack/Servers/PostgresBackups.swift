import Foundation

/// Backups of one Postgres server on this machine, kept and restored by the deployment's own scripts (`deploy/backup`).
package actor PostgresBackups {
    /// Folder in which the scripts keep backups.
    package nonisolated let folder: String
    private nonisolated let server: PostgresServer
    private nonisolated let scripts: String
    private nonisolated let log: String
    /// Changes to the settings of `whisper-backup`.
    private nonisolated let environment: [String: String]
    private var process: ChildProcess?

    private static let role = "whisper_backup"

    /// - Parameter folder: is made; belongs to the account that Postgres runs as.
    package init(of server: PostgresServer, in folder: String, environment: [String: String] = [:]) async throws {
        self.server = server
        self.folder = folder + "/kept"
        self.scripts = folder + "/scripts"
        self.log = folder + "/backup.log"
        self.environment = environment
        try makeFolder(folder)
        // That account may not be able to pass the folders above the source tree.
        for script in ["whisper-backup", "restore"] { try Self.copy(script, to: self.scripts) }
        if let account = try PostgresPrograms.installed().user.flatMap({ getpwnam($0) }) {
            chown(folder, account.pointee.pw_uid, account.pointee.pw_gid)
        }
        let isThere = try await server.run("SELECT count(*) FROM pg_roles WHERE rolname = '\(Self.role)'") == "1"
        if !isThere { try await server.run("CREATE ROLE \(Self.role) LOGIN REPLICATION") }
    }

    // MARK: Keeping

    /// Receives WAL and takes base backups, until `stop`.
    package func start() async throws {
        self.process = try await ChildProcess.start(try self.command("whisper-backup", ["run"]), name: "backup")
    }

    @discardableResult
    package func stop() async -> ExitStatus? {
        defer { self.process = nil }
        return await self.process?.stop()
    }

    /// SIGKILL to it and all that it has started.
    package func kill() async { await self.process?.kill() }

    /// Whether the process still runs, and how it ended if not.
    package var status: ExitStatus? { self.process?.exitStatus }

    /// Takes one base backup now.
    package nonisolated func takeBase(_ environment: [String: String] = [:]) async throws {
        try await self.beginBase(environment).wait()
    }

    /// Begins to take one.
    package nonisolated func beginBase(_ environment: [String: String] = [:]) async throws -> Attempt {
        var command = try self.command("whisper-backup", ["base"])
        command.environment.merge(environment) { $1 }
        return Attempt(process: try await ChildProcess.start(command, name: "base backup"), log: self.log)
    }

    /// A base backup that is being taken.
    package struct Attempt: Sendable {
        package let process: ChildProcess
        fileprivate let log: String

        package func wait() async throws {
            let status = await self.process.end()
            guard status == .exited(0) else {
                throw LaunchError.ended(name: self.process.name, status: status, log: tail(ofLog: self.log))
            }
        }
    }

    /// Names of the base backups, oldest first.
    package nonisolated var bases: [String] {
        self.files("base").filter { !$0.hasPrefix(".") }
    }

    /// Files in a folder of the backups, hidden or not.
    package nonisolated func files(_ folder: String) -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "\(self.folder)/\(folder)")) ?? []).sorted()
    }

    /// A value from the metrics that Prometheus would read.
    package nonisolated func metric(_ name: String) -> Double? {
        let text = (try? String(contentsOfFile: self.folder + "/metrics/backup.prom", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").first { $0.hasPrefix("whisper_backup_\(name) ") }?.split(separator: " ").last
            .flatMap { Double($0) }
    }

    package nonisolated var output: String { (try? String(contentsOfFile: self.log, encoding: .utf8)) ?? "" }

    /// Returns when all that is committed now has been received.
    package nonisolated func catchUp() async throws {
        let now = Date().timeIntervalSince1970.rounded(.up)
        try await waitUntil("the backup has all WAL", within: readyTimeout, every: .milliseconds(100)) {
            (self.metric("wal_last_received_timestamp_seconds") ?? 0) >= now
        }
    }

    /// Keeps the marks of erased identities, as they are now.
    /// - Parameter url: of the database that has them.
    package nonisolated func keepMarks(of url: String) async throws {
        var command = try self.command("whisper-backup", [])
        command.arguments = ["-c", #""$0" marks | "$1" marks"#, Self.auth, command.program]
        command.program = "/bin/sh"
        command.user = nil
        command.environment["POSTGRES_URL"] = url
        try await command.run(name: "marks")
    }

    private static let auth = StackConfiguration.programsBesideThisOne + "/whisper-auth"

    // MARK: Restoring

    /// Makes a data folder of what is kept.
    /// - Parameters:
    ///   - folder: must not be there; its parent may belong to anybody.
    ///   - isErasing: whether those are erased anew whose marks are kept.
    /// - Throws: `LaunchError.ended` with what the script said.
    package nonisolated func restore(
        to folder: String, _ arguments: [String] = [], isErasing: Bool = false
    ) async throws {
        let restored = (self.scripts as NSString).deletingLastPathComponent + "/restored"
        let arguments = arguments + (isErasing ? [] : ["--without-erasures"]) + [self.folder, restored]
        try await self.command("restore", arguments).run(name: "restore")
        if isErasing {
            try await Command(
                Self.script("reapply").path, [restored, self.folder + "/erasures"],
                environment: ["WHISPER_AUTH": Self.auth], log: self.log
            ).run(name: "reapply")
        }
        guard rename(restored, folder) == 0 else {
            throw LaunchError.file(folder, reason: String(cString: strerror(errno)))
        }
    }

    private nonisolated func command(_ script: String, _ arguments: [String]) throws -> Command {
        let settings = [
            "BACKUP_SERVER": self.server.url(user: Self.role), "BACKUP_FOLDER": self.folder, "BACKUP_TICK_SECONDS": "1",
        ]
        return Command(
            "\(self.scripts)/\(script)", arguments, environment: settings.merging(self.environment) { $1 }, folder: "/",
            user: try PostgresPrograms.installed().user, log: self.log)
    }

    private static func script(_ name: String) -> URL {
        URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../deploy/backup/\(name)")
            .standardizedFileURL
    }

    private static func copy(_ script: String, to folder: String) throws {
        try makeFolder(folder)
        do {
            try FileManager.default.copyItem(at: Self.script(script), to: URL(filePath: "\(folder)/\(script)"))
        } catch {
            throw LaunchError.file(folder, reason: "\(error)")
        }
    }
}
