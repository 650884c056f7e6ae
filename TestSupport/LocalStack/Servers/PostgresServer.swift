import Foundation

/// A real Postgres on loopback, durable (`fsync` and `synchronous_commit` on), with one superuser `postgres` and trust
/// in whoever reaches it.
///
/// It refuses to run as root, so root runs it as the user `postgres`. The server gets its folder as an open descriptor:
/// that user need not be able to pass the folders above.
package actor PostgresServer {
    package nonisolated let port: Int
    /// The data directory. Also holds the server's local socket.
    package nonisolated let folder: String
    private nonisolated let log: String
    private let temporary: TemporaryFolder?
    private let settings: [String]
    private let endsWithProcess: Bool
    private var process: ChildProcess?

    /// - Parameters:
    ///   - folder: the data directory; made and filled on the first start, kept ever after.
    ///   - port: a free one when nil; kept over restarts.
    ///   - settings: more of them, `name=value`.
    package init(folder: String, port: Int? = nil, log: String? = nil, settings: [String] = []) {
        self.folder = folder
        self.port = port ?? LoopbackPort.free()
        self.log = log ?? folder + ".log"
        self.settings = settings
        self.temporary = nil
        self.endsWithProcess = false
    }

    /// For one test: in a temporary folder that `stop` removes.
    private init(_ temporary: TemporaryFolder, settings: [String] = [], endsWithProcess: Bool = false) {
        self.folder = temporary.path + "/data"
        self.port = LoopbackPort.free()
        self.log = temporary.path + "/postgres.log"
        self.settings = settings
        self.temporary = temporary
        self.endsWithProcess = endsWithProcess
    }

    /// A running server for one test.
    package static func temporary() async throws -> PostgresServer {
        let server = PostgresServer(try TemporaryFolder(named: "postgres"))
        try await server.start()
        return server
    }

    /// A running server that nobody stops: server and folder go when this process ends, however it ends.
    static func forThisProcess(settings: [String]) async throws -> PostgresServer {
        // Databases that come and go are thousands of files, and the file system of a disk looks for room for each.
        let folder = try TemporaryFolder.inMemory(named: "postgres", bytes: 2_000_000_000)
        let server = PostgresServer(folder, settings: settings, endsWithProcess: true)
        try await server.start()
        return server
    }

    /// A running standby of another server, for one test. It has received all that was committed before.
    /// - Parameter name: what `synchronous_standby_names` of the other knows it by.
    package static func standby(
        of primary: PostgresServer, named name: String = "standby"
    ) async throws -> PostgresServer {
        let programs = try PostgresPrograms.installed()
        let temporary = try TemporaryFolder(named: "standby")
        let server = PostgresServer(temporary)
        do {
            if let account = programs.user.flatMap({ getpwnam($0) }) {
                chown(temporary.path, account.pointee.pw_uid, account.pointee.pw_gid)
            }
            try await Command(
                programs.folder + "/pg_basebackup",
                [
                    "-D", server.folder, "-d", "\(primary.url()) application_name=\(name)", "-c", "fast", "-X",
                    "stream",
                    "--no-sync", "-R", "-C", "-S", name,
                ],
                folder: "/", user: programs.user, log: temporary.path + "/pg_basebackup.log"
            ).run(name: "pg_basebackup")
            try await server.start()
        } catch {
            await server.stop()
            throw error
        }
        return server
    }

    /// Commits wait for the standby from now on; returns when it receives.
    package nonisolated func waitFor(standby name: String = "standby") async throws {
        try await self.run("ALTER SYSTEM SET synchronous_standby_names = '\(name)'")
        try await self.run("SELECT pg_reload_conf()")
        try await waitUntil("the standby is synchronous", within: readyTimeout) {
            try await self.run("SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'") == "1"
        }
    }

    /// Makes a standby the primary; returns when it takes writes.
    package nonisolated func promote() async throws {
        let seconds = readyTimeout.components.seconds
        guard try await self.run("SELECT pg_promote(true, \(seconds))") == "t" else {
            throw TimeUp(what: "the standby is promoted", after: readyTimeout)
        }
    }

    /// The server and all of its children stand still, as on a machine that is paused. The kernel still takes connections.
    package func freeze() async throws {
        guard let process else { return }
        process.signal(.pause)
        try await waitUntil("postgres stands still", within: readyTimeout) {
            ProcessStat(process.pid).map { $0.isStopped || $0.isZombie } ?? true
        }
        for child in ProcessTable().descendants(of: process.pid) { Glibc.kill(child, SIGSTOP) }
    }

    package func thaw() {
        guard let process else { return }
        for child in ProcessTable().descendants(of: process.pid) { Glibc.kill(child, SIGCONT) }
        process.signal(.resume)
    }

    package var child: ChildProcess? { self.process }

    /// A libpq conninfo string. Over the local socket where its path is short enough for one, else over TCP.
    package nonisolated func url(database: String = "postgres", user: String = "postgres") -> String {
        Self.url(of: [self], database: database, user: user)
    }

    /// As it stands between the quotes of a conninfo string.
    private nonisolated var host: String {
        // sun_path holds 107 bytes and a zero.
        let fits = "\(self.folder)/.s.PGSQL.\(self.port)".utf8.count <= 107
        let host = fits ? self.folder : "127.0.0.1"
        return host.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
    }

    /// URL of several servers that hold the same database.
    package static func url(
        of servers: [PostgresServer], database: String = "postgres", user: String = "postgres"
    ) -> String {
        let hosts = servers.map(\.host).joined(separator: ",")
        let ports = servers.map { "\($0.port)" }.joined(separator: ",")
        return "host='\(hosts)' port=\(ports) dbname=\(database) user=\(user)"
    }

    /// Returns when it accepts connections; after a kill that is when its recovery is through.
    package func start() async throws {
        if let process, process.isRunning { return }
        // Children of a server that somebody else killed hold on to its port until they notice.
        let timeout = self.process == nil ? Duration.zero : readyTimeout
        do {
            try await waitUntil("the port is free", within: timeout) { LoopbackPort.isFree(self.port) }
        } catch is TimeUp {
            throw LaunchError.portTaken(self.port)
        }
        let programs = try PostgresPrograms.installed()
        if !FileManager.default.fileExists(atPath: self.folder + "/PG_VERSION") {
            try await PostgresTemplate(programs: programs).copy(to: self.folder)
        }
        self.disownTheDead()
        let deadline = ContinuousClock.now + readyTimeout
        while true {
            let process = try await ChildProcess.start(self.command(programs), name: "postgres")
            self.process = process
            do {
                return try await process.becomeReady { self.isReady(process.pid) }
            } catch LaunchError.ended(_, .exited(1), let log)
                where log.contains("still in use") && ContinuousClock.now < deadline
            {
                // The same children, still attached to its memory.
                try await Task.sleep(for: .milliseconds(50))
            }
        }
    }

    /// Ends it in order (open connections are closed). A temporary folder is removed.
    package func stop() async {
        if self.temporary != nil { await self.kill() }  // its last checkpoint is of no use to anybody
        if let process {
            if process.isRunning { await process.stop(with: .interrupt) }
            self.removeSharedMemory(of: process.pid)
        }
        self.process = nil
        self.temporary?.remove()
    }

    /// SIGKILL to the server and all of its children at once, as when the power goes; returns when they are gone.
    /// `start` recovers on the same folder and port.
    package func kill() async {
        guard let process, process.isRunning else { return }
        // No new children while we count them: one that was missed, and then waits for a lock of the dead, never notices.
        process.signal(.pause)
        try? await waitUntil("postgres stands still", within: readyTimeout) {
            ProcessStat(process.pid).map { $0.isStopped || $0.isZombie } ?? true
        }
        let children = ProcessTable().descendants(of: process.pid)
        for child in children { Glibc.kill(child, SIGKILL) }
        await process.kill()
        try? await waitUntil("children of postgres are gone", within: readyTimeout) {
            children.allSatisfy { ProcessStat($0)?.isZombie ?? true }
        }
    }

    package func restart() async throws {
        await self.kill()
        try await self.start()
    }

    package func signal(_ signal: ProcessSignal) {
        self.process?.signal(signal)
    }

    /// Runs SQL as the superuser; several statements make one transaction.
    /// - Returns: rows as text, fields separated by `|`.
    @discardableResult
    package nonisolated func run(_ sql: String, database: String = "postgres") async throws -> String {
        try await self.psql([sql], database: database).output(name: "psql").trimmingCharacters(in: .newlines)
    }

    /// The program that does so, one command after the other.
    package nonisolated func psql(_ sql: [String], database: String) throws(LaunchError) -> Command {
        Command(
            try PostgresPrograms.installed().folder + "/psql",
            ["--no-psqlrc", "-qtAX", "-v", "ON_ERROR_STOP=1", "-d", self.url(database: database)]
                + sql.flatMap { ["-c", $0] })
    }

    /// Reads postmaster.pid as pg_ctl does: first line the process id, eighth the state.
    private nonisolated func isReady(_ pid: pid_t) -> Bool {
        let lines = self.pidFile
        return lines.count >= 8 && lines[0] == "\(pid)" && lines[7].hasPrefix("ready")
    }

    /// To Postgres the server named in its lock file is alive if any process has that id: a stranger's since the
    /// machine started again, or its own while nobody has asked for its exit status (init should, and not every
    /// container has one that does). It ignores the id of its own parent, so that is what we put there. Whether old
    /// children are still attached to its memory is checked all the same.
    private func disownTheDead() {
        let lines = self.pidFile
        guard let pid = lines.first.flatMap({ pid_t($0) }), !(ProcessStat(pid)?.isAlive(as: "postgres") ?? false)
        else { return }
        let disowned = (["\(getpid())"] + lines.dropFirst()).joined(separator: "\n")
        try? disowned.write(toFile: self.folder + "/postmaster.pid", atomically: false, encoding: .utf8)
    }

    /// The few bytes of System V shared memory that mark the folder as in use. A killed server leaves them behind.
    private func removeSharedMemory(of pid: pid_t) {
        let lines = self.pidFile
        guard lines.count >= 7, lines[0] == "\(pid)",
            let id = lines[6].split(separator: " ").last.flatMap({ Int32($0) })
        else { return }
        shmctl(id, IPC_RMID, nil)
    }

    private nonisolated var pidFile: [Substring] {
        let text = try? String(contentsOfFile: self.folder + "/postmaster.pid", encoding: .utf8)
        return text?.split(separator: "\n", omittingEmptySubsequences: false) ?? []
    }

    private func command(_ programs: PostgresPrograms) -> Command {
        let settings =
            [
                "listen_addresses=127.0.0.1",
                "unix_socket_directories=\(Command.openFolder)",
                "fsync=on",
                "synchronous_commit=on",
                "max_connections=100",
                "shared_buffers=128MB",
                "dynamic_shared_memory_type=mmap",  // in the folder, so that nothing stays elsewhere after a kill
                "log_line_prefix=%m [%p] ",
            ] + self.settings
        var command = Command(
            programs.folder + "/postgres",
            ["-D", Command.openFolder, "-p", "\(self.port)"] + settings.flatMap { ["-c", $0] },
            folder: "/", openFolder: self.folder, user: programs.user, log: self.log)
        if self.endsWithProcess, !TemporaryFolder.areKept { command.folderToRemove = self.temporary?.path }
        return command
    }
}
