package import Glibc

/// A real Redis Cluster on loopback: masters, each with one replica. Like `RedisServer` it forgets everything when it ends.
package actor RedisClusterServers {
    /// Slots of a cluster (Redis Cluster specification).
    private static let slots = 16_384
    /// Time for all to know each other, and for a replica to take over.
    private static let wholeMax = Duration.seconds(30)
    /// After this time without an answer a node is taken for lost, in milliseconds. A busy machine lets a node wait for
    /// the processor or the disk for a second or two; none may lose its slots for that.
    private static let nodeTimeout = 4_000
    /// The same of a node that is to notice nothing: longer than any fault.
    private static let unawareFor = 120_000

    /// Masters first, as they are made; later either of a pair may be the master.
    package nonisolated let nodes: [RedisServer]
    package nonisolated let masters: Int
    /// Where each node listens for the others.
    package nonisolated let busPorts: [Int]
    /// Where the others look for it instead: ports of proxies. Empty without them.
    private nonisolated let busDetours: [Int]
    private let temporary: TemporaryFolder?

    /// - Parameters:
    ///   - folder: gets a folder for each node.
    ///   - busDetours: where nodes look for each other, one for each node: ports of proxies that lead to `busPorts`.
    ///   - arguments: more of redis-server's command line.
    package init(folder: String, masters: Int = 3, busDetours: [Int] = [], arguments: [String] = []) {
        self.init(folder: folder, temporary: nil, masters: masters, busDetours: busDetours, arguments: arguments)
    }

    private init(
        folder: String, temporary: TemporaryFolder?, masters: Int, busDetours: [Int] = [], arguments: [String]
    ) {
        self.temporary = temporary
        self.masters = masters
        self.busDetours = busDetours
        let busPorts = (0..<2 * masters).map { _ in LoopbackPort.free() }
        self.busPorts = busPorts
        self.nodes = (0..<2 * masters).map { number in
            RedisServer(
                folder: "\(folder)/redis-\(number)",
                arguments: [
                    "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
                    "--cluster-port", "\(busPorts[number])", "--cluster-node-timeout", "\(Self.nodeTimeout)",
                    "--cluster-replica-validity-factor", "0", "--cluster-require-full-coverage", "no",
                    "--repl-diskless-sync-delay", "0",
                ] + Self.detour(of: number, busDetours) + arguments)
        }
    }

    /// The address from which a node speaks to proxies, which tell nodes apart by it.
    package static func source(of number: Int) -> String { "127.0.1.\(number + 1)" }

    private static func detour(of number: Int, _ busDetours: [Int]) -> [String] {
        guard !busDetours.isEmpty else { return [] }
        return [
            "--cluster-announce-bus-port", "\(busDetours[number])",
            // The others would take the proxy's address for its own.
            "--cluster-announce-ip", "127.0.0.1", "--bind-source-addr", self.source(of: number),
            // Protected, a node takes no other address than 127.0.0.1 for this machine.
            "--protected-mode", "no",
        ]
    }

    /// A running cluster for one test, in a folder that `stop` removes.
    package static func temporary(masters: Int = 3) async throws -> RedisClusterServers {
        let folder = try TemporaryFolder(named: "redis-cluster")
        let cluster = RedisClusterServers(folder: folder.path, temporary: folder, masters: masters, arguments: [])
        do {
            try await cluster.start()
        } catch {
            await cluster.stop()
            throw error
        }
        return cluster
    }

    /// Returns when the cluster serves all slots and each master has a replica.
    package func start() async throws {
        for node in self.nodes { try await node.start() }
        for (number, node) in self.nodes.enumerated() {
            try await self.tell(node, "CLUSTER SET-CONFIG-EPOCH \(number + 1)")
            guard number < self.masters else { continue }
            let (first, last) = (number * Self.slots / self.masters, (number + 1) * Self.slots / self.masters - 1)
            try await self.tell(node, "CLUSTER ADDSLOTSRANGE \(first) \(last)")
        }
        let busPorts = self.busDetours.isEmpty ? self.busPorts : self.busDetours
        for (node, busPort) in zip(self.nodes, busPorts).dropFirst() {
            try await self.tell(self.nodes[0], "CLUSTER MEET 127.0.0.1 \(node.port) \(busPort)")
        }
        try await self.untilAll("know each other") { $0.contains("cluster_known_nodes:\(self.nodes.count)\r") }
        for number in 0..<self.masters {
            let id = try await self.id(of: self.nodes[number])
            try await waitUntil("a replica knows its master", within: Self.wholeMax) {
                await self.nodes[self.masters + number].answer(to: "CLUSTER REPLICATE \(id)\r\n", lines: 1) == "+OK\r\n"
            }
        }
        try await self.untilWhole()
    }

    /// Returns when all slots are served, every node that runs says so, and each replica that runs has its master's data.
    package func untilWhole() async throws {
        try await self.untilAll("serve") { $0.contains("cluster_state:ok") }
        try await waitUntil("replicas have their masters' data", within: Self.wholeMax) {
            for node in self.nodes where await node.child?.isRunning == true {
                guard let answer = await node.answer(to: "ROLE\r\n", lines: 3) else { return false }
                if answer.contains("slave"), !answer.contains("connected") { return false }
            }
            return true
        }
    }

    package func stop() async {
        for node in self.nodes { await node.stop() }
        self.temporary?.remove()
    }

    /// Process ids of all nodes that run.
    package var pids: [pid_t] {
        get async {
            var pids: [pid_t] = []
            for node in self.nodes { if let child = await node.child, child.isRunning { pids.append(child.pid) } }
            return pids
        }
    }

    var firstRunning: ChildProcess? {
        get async {
            for node in self.nodes { if let child = await node.child, child.isRunning { return child } }
            return nil
        }
    }

    /// Empties all masters.
    package func flush() async throws {
        for node in self.nodes where await self.isMaster(node) { try await node.flush() }
    }

    /// The node that is master of a name's slot now.
    package func master(of name: String) async throws -> RedisServer {
        for node in self.nodes where await node.child?.isRunning == true {
            // A node that does not serve the slot refuses the command.
            let answer = await node.answer(to: "EXISTS \(name)\r\n", lines: 1)
            if answer?.hasPrefix(":") == true { return node }
        }
        throw LaunchError.notReady(name: "redis-cluster", after: .zero, log: "nobody serves \(name)")
    }

    /// Whether another node is master of a name's slot now.
    package func hasSuccessor(of master: RedisServer, for name: String) async -> Bool {
        for node in self.nodes where node.port != master.port {
            guard await node.child?.isRunning == true else { continue }
            if await node.answer(to: "EXISTS \(name)\r\n", lines: 1)?.hasPrefix(":") == true { return true }
        }
        return false
    }

    /// Whether replicas get what a master writes. They are connected anew when they may.
    package func setReplication(of master: RedisServer, isOn: Bool) async throws {
        try await master.setUser("default \(isOn ? "+" : "-")psync \(isOn ? "+" : "-")sync")
        if !isOn { _ = await master.answer(to: "CLIENT KILL TYPE replica\r\n", lines: 1) }
    }

    /// Whether a node notices in time that it does not hear the others. One that does not goes on answering.
    package func setNoticing(of node: RedisServer, isOn: Bool) async throws {
        try await self.tell(node, "CONFIG SET cluster-node-timeout \(isOn ? Self.nodeTimeout : Self.unawareFor)")
    }

    /// Bytes that a master has had for its replicas until now; `nil` without an answer.
    package func bytesWritten(at master: RedisServer) async -> Int? {
        let info = await master.answer(to: "INFO replication\r\n", lines: 12) ?? ""
        return info.firstMatch(of: /master_repl_offset:(\d+)/).flatMap { Int($0.1) }
    }

    /// Connections of services to a node; `nil` without an answer.
    package func clients(of node: RedisServer) async -> Int? {
        // The default user is whoever asks, and the other nodes.
        await node.answer(to: "CLIENT LIST\r\n", lines: 2)?.split(separator: "\n")
            .count { $0.contains(" user=") && !$0.contains(" user=default ") }
    }

    /// Moves the slot of a name, with all keys in it, to another master, as resharding does.
    package func move(_ name: String) async throws {
        let source = try await self.master(of: name)
        var target: RedisServer?
        for node in self.nodes where node.port != source.port && target == nil {
            if await node.child?.isRunning == true, await self.isMaster(node) { target = node }
        }
        let answer = await source.answer(to: "CLUSTER KEYSLOT \(name)\r\n", lines: 1)
        guard let target, let slot = answer?.dropFirst().split(separator: "\r\n").first else {
            throw LaunchError.notReady(name: "redis-cluster", after: .zero, log: "there is no other master")
        }
        let (from, to) = (try await self.id(of: source), try await self.id(of: target))
        try await self.tell(target, "CLUSTER SETSLOT \(slot) IMPORTING \(from)")
        try await self.tell(source, "CLUSTER SETSLOT \(slot) MIGRATING \(to)")
        // Keys that are not there yet come into being at the target from here on.
        try await waitUntil("no key of the slot is left", within: Self.wholeMax) {
            let count = await source.answer(to: "CLUSTER COUNTKEYSINSLOT \(slot)\r\n", lines: 1)
            guard let count, count != ":0\r\n" else { return count != nil }
            let keys = await source.answer(to: "CLUSTER GETKEYSINSLOT \(slot) 1\r\n", lines: 3)
            guard let key = keys?.split(separator: "\r\n").last else { return false }
            _ = await source.answer(to: "MIGRATE 127.0.0.1 \(target.port) \(key) 0 5000\r\n", lines: 1)
            return false
        }
        try await self.tell(target, "CLUSTER SETSLOT \(slot) NODE \(to)")
        try await self.tell(source, "CLUSTER SETSLOT \(slot) NODE \(to)")
    }

    private func isMaster(_ node: RedisServer) async -> Bool {
        await node.answer(to: "ROLE\r\n", lines: 3)?.contains("master") == true
    }

    private func tell(_ node: RedisServer, _ command: String) async throws {
        let answer = await node.answer(to: command + "\r\n", lines: 1)
        guard answer == "+OK\r\n" else {
            throw LaunchError.notReady(
                name: "redis-cluster", after: .zero, log: "\(command): \(answer ?? "no answer")")
        }
    }

    private func id(of node: RedisServer) async throws -> String {
        let lines = await node.answer(to: "CLUSTER MYID\r\n", lines: 2)?.split(separator: "\r\n") ?? []
        guard lines.count == 2 else {
            throw LaunchError.notReady(name: "redis-cluster", after: .zero, log: "a node has no id")
        }
        return String(lines[1])
    }

    private func untilAll(_ what: String, _ holds: @escaping (String) -> Bool) async throws {
        try await waitUntil("all nodes \(what)", within: Self.wholeMax) {
            for node in self.nodes where await node.child?.isRunning == true {
                guard let info = await node.answer(to: "CLUSTER INFO\r\n", lines: 10), holds(info) else { return false }
            }
            return true
        }
    }
}
