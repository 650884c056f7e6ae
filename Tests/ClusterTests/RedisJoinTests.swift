import Foundation
import LocalStack
import Testing

/// `deploy/redis/join` as the chart runs it: six nodes of `deploy/redis/start`, with TLS, and addresses that only their names tell.
@Suite(.enabled(if: JoiningNodes.areAvailable, "root, and the programs of make dependencies")) struct RedisJoinTests {
    private static let formedWithin = Duration.seconds(90)

    @Test func nodesMakeAClusterByThemselvesAndKeepIt() async throws {
        try await JoiningNodes.run { nodes in
            try await nodes.start()
            try await waitUntil("all have their places", within: Self.formedWithin, every: .milliseconds(500)) {
                try await nodes.areWhole(masters: [0, 1, 2])
            }

            // Run again beside the first, on each node, it finds nothing to do.
            let before = try await nodes.places(seenBy: 0)
            for number in 0..<JoiningNodes.count { try await nodes.joinAgain(number) }
            let looks = 4
            try await waitUntil("each has looked again", within: .seconds(60), every: .milliseconds(500)) {
                try await nodes.commandsOfSecondJoins().allSatisfy { $0.count > looks }
            }
            for commands in try await nodes.commandsOfSecondJoins() { #expect(Set(commands) == ["CLUSTER NODES"]) }
            #expect(try await nodes.places(seenBy: 0) == before)

            // A master is lost with all that it had. Its replica has its share when it comes back, at another address.
            await nodes.lose(1)
            try await waitUntil("its replica takes over", within: .seconds(60), every: .milliseconds(500)) {
                try await nodes.places(seenBy: 4)[JoiningNodes.name(4)]?.isMaster == true
            }
            try await nodes.startAnew(1)
            try await waitUntil("it is a replica", within: Self.formedWithin, every: .milliseconds(500)) {
                try await nodes.areWhole(masters: [0, 4, 2])
            }
            let after = try await nodes.places(seenBy: 0)
            #expect(after[JoiningNodes.name(1)]?.id != before[JoiningNodes.name(1)]?.id)
            #expect(after[JoiningNodes.name(4)]?.id == before[JoiningNodes.name(4)]?.id)
        }
    }
}

/// The nodes of one Redis Cluster, each in a mount namespace of its own, on an address of loopback in place of a pod's.
private actor JoiningNodes {
    static let count = 6
    private static let masters = 3
    private static let slots = 16_384

    static var areAvailable: Bool {
        let programs = ["/usr/bin/unshare", "/usr/bin/redis-server", "/usr/bin/redis-cli", "/usr/bin/openssl"]
        guard geteuid() == 0, programs.allSatisfy({ (program: String) in access(program, X_OK) == 0 }) else {
            return false
        }
        // A container may refuse namespaces to its root.
        return (try? Run(programs[0], "--mount", "/bin/true").status) == 0
    }

    /// One node's description of another node, or of itself.
    struct Place: Equatable {
        var id: String
        var isMaster: Bool
        /// Id of the node that a replica copies.
        var copies: String?
        var slots: String?
        var isReachable: Bool
    }

    private let folder: TemporaryFolder
    /// `127.a.b`: two launchers at once hardly have the same.
    private let network = "127.\(Int.random(in: 16...250)).\(Int.random(in: 0...250))"
    /// Last part of each node's address. A node that is made anew has another.
    private var hosts = (1...JoiningNodes.count).map { $0 }
    private var processes: [Int: ChildProcess] = [:]
    private var secondJoins: [ChildProcess] = []

    private init() throws { self.folder = try TemporaryFolder(named: "redis-join") }

    static func run(_ body: @Sendable (JoiningNodes) async throws -> Void) async throws {
        let nodes = try JoiningNodes()
        defer { nodes.folder.remove() }
        do {
            try await body(nodes)
        } catch {
            await nodes.stop()
            throw error
        }
        await nodes.stop()
    }

    private func stop() async {
        for process in self.secondJoins { await process.kill() }
        for process in self.processes.values { await process.kill() }
    }

    func start() async throws {
        try await Command(
            "/bin/sh", [Self.deploy + "/make-secrets", self.secrets], log: self.folder.path + "/secrets.log"
        )
        .run(name: "make-secrets")
        // Names are never asked of a name server.
        try "hosts: files\n".write(toFile: self.folder.path + "/nsswitch.conf", atomically: true, encoding: .utf8)
        try self.writeHosts()
        for number in 0..<Self.count { try await self.start(number) }
    }

    /// SIGKILL, and all that it kept is gone.
    func lose(_ number: Int) async {
        await self.processes.removeValue(forKey: number)?.kill()
        try? FileManager.default.removeItem(atPath: self.home(number))
    }

    func startAnew(_ number: Int) async throws {
        self.hosts[number] += 100
        try self.writeHosts()
        try await self.start(number)
    }

    /// Starts the script once more for a node that runs.
    func joinAgain(_ number: Int) async throws {
        let command = self.command(number, "exec /bin/sh -x /run/deploy/join", log: self.secondLog(number))
        self.secondJoins.append(try await ChildProcess.start(command, name: "join-\(number)"))
    }

    /// Commands that the second run of the script has sent to each node so far.
    func commandsOfSecondJoins() throws -> [[String]] {
        try (0..<Self.count).map { number in
            try String(contentsOfFile: self.secondLog(number), encoding: .utf8).split(separator: "\n")
                .compactMap { $0.hasPrefix("+ tell ") ? String($0.dropFirst("+ tell ".count)) : nil }
        }
    }

    static func name(_ number: Int) -> String { "redis-\(number).redis-nodes" }

    /// Whether every node sees every share with its master and its replica, and nobody else.
    func areWhole(masters: [Int]) async throws -> Bool {
        for number in 0..<Self.count {
            let places = try await self.places(seenBy: number)
            guard places.count == Self.count, places.values.allSatisfy(\.isReachable) else { return false }
            for share in 0..<Self.masters {
                let slots = "\(share * Self.slots / Self.masters)-\((share + 1) * Self.slots / Self.masters - 1)"
                let pair = [share, share + Self.masters]
                guard let master = pair.first(where: masters.contains),
                    let replica = pair.first(where: { $0 != master }),
                    let first = places[Self.name(master)], let second = places[Self.name(replica)],
                    first.isMaster, first.slots == slots, !second.isMaster, second.copies == first.id
                else { return false }
            }
        }
        return true
    }

    /// By name. Nodes without one are there by their ids; nobody is there if the node does not answer.
    func places(seenBy number: Int) async throws -> [String: Place] {
        let command = Command(
            "/usr/bin/timeout",
            [
                "5", "/usr/bin/redis-cli", "-h", self.address(number), "-p", "6379", "--tls", "--cacert",
                self.secrets + "/authority.pem", "--sni", "redis", "--user", "node", "--no-auth-warning", "CLUSTER",
                "NODES",
            ],
            environment: ["REDISCLI_AUTH": try String(contentsOfFile: self.secrets + "/redis_node", encoding: .utf8)])
        guard let answer = try? await command.output(name: "redis-cli") else { return [:] }
        return answer.split(separator: "\n").reduce(into: [:]) { places, line in
            let words = line.split(separator: " ").map(String.init)
            guard words.count >= 8 else { return }
            let flags = words[2].split(separator: ",")
            let named = words[1].split(separator: ",").dropFirst().first.map(String.init)
            places[named ?? words[0]] = Place(
                id: words[0], isMaster: flags.contains("master"), copies: words[3] == "-" ? nil : words[3],
                slots: words.count == 9 ? words[8] : nil,
                isReachable: words[7] == "connected" && !flags.contains { $0.contains("fail") || $0 == "noaddr" })
        }
    }

    private static let deploy = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../deploy").standardizedFileURL.path

    private var secrets: String { self.folder.path + "/secrets" }
    private func home(_ number: Int) -> String { "\(self.folder.path)/redis-\(number)" }
    private func secondLog(_ number: Int) -> String { "\(self.folder.path)/join-\(number).log" }
    private func address(_ number: Int) -> String { "\(self.network).\(self.hosts[number])" }

    /// In place: nodes have this very file mounted.
    private func writeHosts() throws {
        let lines = (0..<Self.count).map { "\(self.address($0)) \(Self.name($0))\n" }
        try lines.joined().write(toFile: self.folder.path + "/hosts", atomically: false, encoding: .utf8)
    }

    private func start(_ number: Int) async throws {
        let command = self.command(
            number, "exec /bin/sh /run/deploy/start", log: "\(self.folder.path)/redis-\(number).log")
        self.processes[number] = try await ChildProcess.start(command, name: "redis-\(number)")
    }

    /// A command among the files that a pod has.
    private func command(_ number: Int, _ command: String, log: String) -> Command {
        try? FileManager.default.createDirectory(atPath: self.home(number), withIntermediateDirectories: true)
        let files = """
            set -e
            mount -t tmpfs none /run
            mkdir /run/secrets /run/deploy
            mount --bind "$1/secrets" /run/secrets
            mount --bind "$2" /run/deploy
            mount --bind "$1/hosts" /etc/hosts
            mount --bind "$1/nsswitch.conf" /etc/nsswitch.conf
            mount --bind "$3" /tmp
            """
        return Command(
            "/usr/bin/unshare",
            [
                "--mount", "--pid", "--fork", "--kill-child", "--", "/bin/sh", "-c", files + "\n" + command, "sh",
                self.folder.path, Self.deploy + "/redis", self.home(number),
            ],
            environment: [
                "CLUSTER_NODES": (0..<Self.count).map { Self.name($0) }.joined(separator: " "),
                "CLUSTER_MASTERS": "\(Self.masters)", "NAME": Self.name(number), "ADDRESS": self.address(number),
                "LISTEN": self.address(number), "MAX_MEMORY": "64mb",
            ],
            folder: "/", log: log)
    }
}
