import Foundation

/// Three real Postgres under Patroni and three etcd on loopback, with the files of deploy/ha: what `compose.ha.yaml` runs.
///
/// Each Patroni and its Postgres have a process namespace of their own, so that they end together and nothing outlives
/// this process. Needs root.
package actor PatroniCluster {
    package static let nodes = 1...3

    private nonisolated let folder: String
    private nonisolated let isSynchronous: Bool
    private nonisolated let ports: [Port: [Int]]
    private var etcds: [Int: ChildProcess] = [:]
    private var patronis: [Int: ChildProcess] = [:]

    private enum Port: CaseIterable { case etcd, peer, postgres, api }

    /// Time for three to become one cluster, and for one that was lost to come back. A lost host is copied anew.
    private static let wholeMax = Duration.seconds(180)
    /// Longest wait for an answer of one node, in seconds.
    private static let answerMax = 4

    /// - Parameters:
    ///   - folder: gets everything.
    ///   - isSynchronous: whether a commit waits for a standby, as deploy/ha has it.
    package init(folder: String, isSynchronous: Bool = true) {
        self.folder = folder
        self.isSynchronous = isSynchronous
        self.ports = Dictionary(
            uniqueKeysWithValues: Port.allCases.map { ($0, Self.nodes.map { _ in LoopbackPort.free() }) })
    }

    /// Whether all programs are here, and we may start them.
    package static var isAvailable: Bool {
        let programs = ["/usr/bin/etcd", "/usr/bin/curl", "/usr/bin/unshare"]
        return geteuid() == 0 && programs.allSatisfy { (program: String) in access(program, X_OK) == 0 }
            && (self.newerPatroni != nil || access("/usr/bin/patroni", X_OK) == 0)
            && (try? PostgresPrograms.installed()) != nil && Self.mayMakeNamespaces
    }

    /// Containers often may not.
    private static let mayMakeNamespaces: Bool = {
        let words = ["--pid", "--fork", "--kill-child", "--mount-proc", "--", "/bin/true"]
        return (try? Run("/usr/bin/unshare", words).status) == 0
    }()

    /// Packages of Patroni 4, if deploy/install-python-tools.sh has put them there. Debian's is 3.
    private static var newerPatroni: String? {
        let tools = self.root.appending(path: ".build/ha-tools").path
        let library = tools + "/lib"
        guard FileManager.default.fileExists(atPath: tools + "/installed.lock"),
            let version = try? FileManager.default.contentsOfDirectory(atPath: library).first
        else { return nil }
        return "\(library)/\(version)/site-packages"
    }

    private static let root = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../..").standardizedFileURL

    // MARK: Where things are

    /// A libpq conninfo string that names all three. libpq finds the one that takes writes.
    package nonisolated func url(role: String) -> String {
        func thrice(_ word: String) -> String { Self.nodes.map { _ in word }.joined(separator: ",") }
        let ports = self.ports[.postgres]!.map { "\($0)" }.joined(separator: ",")
        return "host=\(thrice("localhost")) hostaddr=\(thrice("127.0.0.1")) port=\(ports) dbname=whisper user=\(role) "
            + "sslmode=verify-full sslrootcert=\(self.secrets)/authority.pem"
    }

    /// The file with a role's password. `owner` is that of the database.
    package nonisolated func passwordFile(of role: String) -> String { "\(self.secrets)/postgres_\(role)" }

    private nonisolated var secrets: String { self.folder + "/secrets" }
    private nonisolated func home(_ node: Int) -> String { "\(self.folder)/postgres-\(node)" }
    private nonisolated func port(_ port: Port, _ node: Int) -> Int { self.ports[port]![node - 1] }

    // MARK: All of it

    /// Returns when there is a primary and two standbys follow it.
    package func start() async throws {
        guard self.patronis.isEmpty else { return }
        try await self.prepare()
        for node in Self.nodes { try await self.startEtcd(node) }
        for node in Self.nodes { try await self.startPatroni(node) }
        try await self.becomeWhole()
    }

    /// Kills everything: nothing of it is kept.
    package func stop() async {
        for node in Self.nodes { await self.loseHost(node) }
        self.patronis = [:]
        self.etcds = [:]
    }

    /// Waits for a primary, two standbys that receive, and one of them that is waited for: before that, nobody may take over.
    /// - Returns: the primary.
    @discardableResult
    package func becomeWhole() async throws -> Int {
        var primary = 0
        try await waitUntil("the three Postgres are one cluster", within: Self.wholeMax, every: .milliseconds(300)) {
            guard let found = await self.primary(),
                await self.ask(found, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'") == "2",
                await self.hasSuccessor(found)
            else { return false }
            primary = found
            return true
        }
        return primary
    }

    // MARK: What happens to it

    /// SIGKILL to Postgres alone. Patroni lives, and says so.
    /// - Parameter unsent: time for which the primary sends nothing to its standbys before that.
    package func killPostgres(_ node: Int, unsent: Duration = .zero) async throws {
        let server = self.postgres(node)
        let senders = unsent == .zero ? [] : server.filter { Self.commandLine($0).contains("walsender") }
        self.send(SIGSTOP, to: senders)
        if unsent > .zero { try await Task.sleep(for: unsent) }
        self.send(SIGSTOP, to: Array(server.prefix(1)))
        self.send(SIGKILL, to: self.postgres(node).reversed())
    }

    /// SIGKILL to Postgres, Patroni and etcd of one node at once.
    package func loseHost(_ node: Int) async {
        let processes = [self.patronis[node], self.etcds[node]].compactMap { $0 }
        let all = processes.flatMap { [$0.pid] + ProcessTable().descendants(of: $0.pid) }
        self.send(SIGCONT, to: all)
        for process in processes { await process.kill() }
        // The kernel ends the namespace behind its first process.
        try? await waitUntil("node \(node) is gone", within: readyTimeout) {
            all.allSatisfy { ProcessStat($0)?.isZombie ?? true }
        }
    }

    package func restoreHost(_ node: Int) async throws {
        try await self.startEtcd(node)
        try await self.startPatroni(node)
    }

    /// Everything of one node stands still. The kernel still takes connections.
    package func freezeHost(_ node: Int) { self.send(SIGSTOP, to: self.everything(node)) }
    package func thawHost(_ node: Int) { self.send(SIGCONT, to: self.everything(node)) }

    package func killEtcd(_ node: Int) async { await self.etcds[node]?.kill() }

    package func startEtcd(_ node: Int) async throws {
        if let process = self.etcds[node], process.isRunning { return }
        let client = "https://127.0.0.1:\(self.port(.etcd, node))"
        let peer = "https://127.0.0.1:\(self.port(.peer, node))"
        let members = Self.nodes.map { "etcd-\($0)=https://127.0.0.1:\(self.port(.peer, $0))" }
        let files = ["", "peer-"].flatMap {
            [
                "--\($0)cert-file", "\(self.secrets)/ha.pem", "--\($0)key-file", "\(self.secrets)/ha.key",
                "--\($0)trusted-ca-file", "\(self.secrets)/authority.pem", "--\($0)client-cert-auth",
            ]
        }
        let command = Command(
            "/usr/bin/etcd",
            [
                "--name", "etcd-\(node)", "--data-dir", "\(self.folder)/etcd-\(node)", "--logger", "zap",
                "--listen-client-urls", client, "--advertise-client-urls", client, "--listen-peer-urls", peer,
                "--initial-advertise-peer-urls", peer, "--initial-cluster", members.joined(separator: ","),
            ] + files, folder: self.folder, log: "\(self.folder)/etcd-\(node).log")
        self.etcds[node] = try await ChildProcess.start(command, name: "etcd-\(node)")
    }

    /// In order: the primary ends what it does and another takes its place.
    /// - Throws: `LaunchError.ended` when Patroni refuses.
    package func switchOver(from node: Int) async throws {
        try await self.curl(
            node, "/switchover", "-X", "POST", "-d", #"{"leader":"postgres-\#(node)"}"#, patience: 60)
    }

    /// The node that takes writes; nil while there is none, or nobody answers.
    package func primary() async -> Int? {
        for node in Self.nodes where await self.ask(node, "SELECT pg_is_in_recovery()") == "f" { return node }
        return nil
    }

    // MARK: Steps

    private func prepare() async throws {
        for name in ["ha", "postgres"] {
            try makeFolder("\(self.folder)/deploy")
            try await Command("/bin/cp", ["-r", "\(Self.root.path)/deploy/\(name)", "\(self.folder)/deploy/"])
                .run(name: "copy of deploy/\(name)")
        }
        if !self.isSynchronous {
            try await Command(
                "/bin/sed",
                [
                    "-i", "-e", "s/synchronous_mode_strict: true/synchronous_mode_strict: false/", "-e",
                    "s/synchronous_mode: $mode/synchronous_mode: off/", "\(self.folder)/deploy/ha/patroni.yml",
                    "\(self.folder)/deploy/ha/start",
                ]
            ).run(name: "sed")
        }
        try await Command("\(Self.root.path)/deploy/ha/make-secrets", [self.secrets]).run(name: "make-secrets")
        chmod(self.secrets, 0o755)
        chmod(self.folder, 0o755)
        try makeFolder(self.programs)
        if let packages = Self.newerPatroni {
            // The account that Postgres runs as need not be able to pass the folders above ours.
            try await Command("/bin/cp", ["-r", packages, "\(self.programs)/packages"]).run(name: "copy of Patroni")
            let script = """
                #!/bin/sh
                PYTHONPATH=\(self.programs)/packages exec /usr/bin/python3 \(self.programs)/run.py "$@"
                """
            // Patroni starts Postgres from a process that reads this file again.
            let main = "from patroni.__main__ import main\nif __name__ == '__main__':\n    main()\n"
            try main.write(toFile: self.programs + "/run.py", atomically: true, encoding: .utf8)
            try script.write(toFile: self.programs + "/patroni", atomically: true, encoding: .utf8)
            chmod(self.programs + "/patroni", 0o755)
        }
        for node in Self.nodes {
            for part in ["", "/data", "/sockets"] { try makeFolder(self.home(node) + part) }
            try await Command("/bin/chown", ["-R", "postgres:", self.home(node)]).run(name: "chown")
        }
    }

    private nonisolated var programs: String { self.folder + "/programs" }

    private func startPatroni(_ node: Int) async throws {
        if let process = self.patronis[node], process.isRunning { return }
        var command = Command(
            "/usr/bin/unshare",
            [
                "--pid", "--fork", "--kill-child", "--mount-proc", "--", "/usr/bin/setpriv", "--reuid", "postgres",
                "--regid", "postgres", "--init-groups", "--pdeathsig", "KILL", "--", "/bin/sh",
                "\(self.folder)/deploy/ha/start",
            ], folder: "/", log: "\(self.folder)/patroni-\(node).log")
        command.environment = [
            "PATH": "\(self.programs):/usr/sbin:/usr/bin:/sbin:/bin", "HOME": self.home(node),
            "NAME": "postgres-\(node)",
            "ADDRESS": "localhost", "LISTEN": "127.0.0.1", "PORT": "\(self.port(.postgres, node))",
            "API_PORT": "\(self.port(.api, node))",
            "ETCD_HOSTS": Self.nodes.map { "127.0.0.1:\(self.port(.etcd, $0))" }.joined(separator: ","),
            "SECRETS": self.secrets, "DATA": self.home(node) + "/data", "SOCKETS": self.home(node) + "/sockets",
        ]
        // The lock file of a Postgres that was killed names a process that the new namespace may have as well.
        try? FileManager.default.removeItem(atPath: self.home(node) + "/data/15/postmaster.pid")
        self.patronis[node] = try await ChildProcess.start(command, name: "patroni-\(node)")
    }

    /// As the superuser, over the local socket; nil if nobody answers.
    private func ask(_ node: Int, _ sql: String) async -> String? {
        guard let programs = try? PostgresPrograms.installed() else { return nil }
        let command = Command(
            "/usr/bin/timeout",
            [
                "\(Self.answerMax)", "\(programs.folder)/psql", "--no-psqlrc", "-qtAX", "-h",
                self.home(node) + "/sockets",
                "-p", "\(self.port(.postgres, node))", "-U", "postgres", "-d", "postgres", "-c", sql,
            ],
            environment: ["PGCONNECT_TIMEOUT": "2"], folder: "/", user: "postgres")
        return try? await command.output(name: "psql").trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Whether etcd knows a standby that has all that was acknowledged.
    private func hasSuccessor(_ node: Int) async -> Bool {
        guard self.isSynchronous else { return true }
        guard let answer = try? await self.curl(node, "/cluster", patience: Self.answerMax) else { return false }
        return answer.contains("sync_standby") || answer.contains("quorum_standby")
    }

    @discardableResult
    private func curl(_ node: Int, _ path: String, _ arguments: String..., patience: Int) async throws -> String {
        try await Command(
            "/usr/bin/curl",
            [
                "-sS", "--fail", "--max-time", "\(patience)", "--cacert", "\(self.secrets)/authority.pem", "--cert",
                "\(self.secrets)/ha.pem", "--key", "\(self.secrets)/ha.key",
            ] + arguments + ["https://localhost:\(self.port(.api, node))\(path)"]
        ).output(name: "curl")
    }

    // MARK: Processes

    private func everything(_ node: Int) -> [pid_t] {
        let table = ProcessTable()
        return [self.patronis[node], self.etcds[node]].compactMap { $0?.isRunning == true ? $0?.pid : nil }
            .flatMap { [$0] + table.descendants(of: $0) }
    }

    /// Postgres processes of one node, the postmaster first.
    private func postgres(_ node: Int) -> [pid_t] {
        guard let patroni = self.patronis[node]?.pid else { return [] }
        let all = ProcessTable().descendants(of: patroni).filter { ProcessStat($0)?.isAlive(as: "postgres") ?? false }
        guard let first = all.first(where: { !all.contains(ProcessStat($0)?.parent ?? 0) }) else { return [] }
        return [first] + all.filter { $0 != first }
    }

    private static func commandLine(_ pid: pid_t) -> String {
        let data = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") ?? Data()
        return String(decoding: data, as: UTF8.self)
    }

    /// All of them are descendants of ours that live: their ids are nobody else's.
    private func send(_ signal: Int32, to pids: [pid_t]) { for pid in pids { Glibc.kill(pid, signal) } }
}
