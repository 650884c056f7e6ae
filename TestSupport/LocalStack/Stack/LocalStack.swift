import Foundation
package import Glibc

/// The whole cluster on loopback, with real servers, in a folder of its own. Nothing of it outlives `stop`, nor this
/// process.
///
/// Any of its processes can be killed, paused, stopped and started again, on the port it had.
package actor LocalStack {
    package nonisolated let configuration: StackConfiguration
    package nonisolated let ports: StackPorts
    /// Everything the stack keeps; logs are under `log/`.
    package nonisolated let folder: String
    package nonisolated let postgres: PostgresServer
    /// In its place, if `StackConfiguration.failsOver`.
    package nonisolated let cluster: PatroniCluster?
    package nonisolated let redis: RedisServer
    /// In its place, if `StackConfiguration.busMasters` says so.
    package nonisolated let redisCluster: RedisClusterServers?
    package nonisolated let balancer: HAProxyServer
    package nonisolated let relay: CoturnServer
    /// Goes with `relay`.
    package nonisolated let guestRelay: CoturnServer

    private let temporary: TemporaryFolder?
    private nonisolated let redisUsers = RedisUsers()
    private var lock: FolderLock?
    private var services: [StackProcess: ChildProcess] = [:]
    /// All processes that ever had a clock of their own.
    private var clockOwners: [pid_t] = []
    /// Processes that are meant to run now. `keepAlive` starts no other.
    private var wanted: Set<StackProcess> = []

    /// Starts nothing yet.
    /// - Throws: `LaunchError.file` when the folder cannot be made.
    package init(_ configuration: StackConfiguration) throws(LaunchError) {
        self.configuration = configuration
        self.ports = StackPorts(configuration)
        if let folder = configuration.folder {
            // Programs get it as their own current directory, so it has to be absolute.
            self.folder = URL(fileURLWithPath: folder).standardizedFileURL.path
            self.temporary = nil
        } else {
            let temporary = try TemporaryFolder(named: "stack")
            self.folder = temporary.path
            self.temporary = temporary
        }
        let log = self.folder + "/log"
        self.postgres = PostgresServer(
            folder: self.folder + "/postgres", port: self.ports.postgres, log: log + "/postgres.log",
            settings: configuration.postgresSettings)
        self.cluster =
            configuration.failsOver
            ? PatroniCluster(folder: self.folder + "/ha", isSynchronous: configuration.waitsForStandby) : nil
        self.relay = CoturnServer(
            folder: self.folder + "/coturn", port: self.ports.turn, secret: configuration.turnSecret,
            log: log + "/coturn.log")
        self.guestRelay = CoturnServer(
            folder: self.folder + "/coturn-guests", port: self.ports.guestTurn, secret: configuration.turnSecret,
            isForGuests: true, log: log + "/coturn-guests.log")
        self.redis = RedisServer(
            folder: self.folder + "/redis", port: self.ports.redis, log: log + "/redis.log",
            arguments: ["--aclfile", self.folder + "/redis-users.acl"])
        self.redisCluster =
            configuration.busMasters > 0
            ? RedisClusterServers(
                folder: self.folder, masters: configuration.busMasters, busDetours: configuration.busDetours,
                arguments: ["--aclfile", self.folder + "/redis-users.acl"]) : nil
        self.balancer = HAProxyServer(
            folder: self.folder, ports: self.ports,
            limits: configuration.addressLimits ?? .standard.scaled(by: configuration.rateLimitScale),
            threads: configuration.balancerThreads, log: log + "/haproxy.log")
    }

    /// A running stack.
    package static func start(
        _ configuration: StackConfiguration, progress: @Sendable (String) -> Void = { _ in }
    ) async throws -> LocalStack {
        let stack = try LocalStack(configuration)
        try await stack.start(progress: progress)
        return stack
    }

    // MARK: Where things are

    /// Where clients connect.
    package nonisolated var endpoint: String { "ws://127.0.0.1:\(self.ports.public)/ws" }
    package nonisolated var publicURL: String { "http://127.0.0.1:\(self.ports.public)" }
    package nonisolated var opsURL: String { "http://127.0.0.1:\(self.ports.ops)" }

    /// The WebSocket of one gateway, past the balancer.
    package nonisolated func endpoint(ofGateway number: Int) -> String {
        "ws://127.0.0.1:\(self.ports[.gateway, number]?.http ?? 0)/ws"
    }

    /// The ops listener of one process, past the balancer.
    package nonisolated func opsURL(of service: ServiceName, _ number: Int) -> String {
        "http://127.0.0.1:\(self.ports[service, number]?.ops ?? 0)"
    }

    package nonisolated func log(of process: StackProcess) -> String { "\(self.folder)/log/\(process).log" }

    /// All processes of this stack, in the order in which they start.
    package nonisolated var processes: [StackProcess] {
        [.postgres, .redis] + self.instances + (self.configuration.hasRelay ? [.relay] : []) + [.balancer]
    }

    private nonisolated var instances: [StackProcess] {
        ServiceName.allCases.flatMap { service in
            (self.ports.services[service] ?? []).indices.map { .service(service, $0 + 1) }
        }
    }

    // MARK: All of it

    /// Starts everything and returns when every process is ready, seen from its own port and through the balancer.
    /// After a throw nothing is left running.
    /// - Parameter progress: called with a line for each step.
    package func start(progress: @Sendable (String) -> Void = { _ in }) async throws {
        descriptorsMax()
        try makeFolder(self.folder + "/log")
        self.lock = try FolderLock(self.folder)
        try self.redisUsers.write(to: self.folder + "/redis-users.acl")
        if self.configuration.hasOwnClocks {
            for instance in self.instances { try self.clock(of: instance).set(offBy: 0) }
        }
        do {
            for port in [self.ports.public, self.ports.ops] where !LoopbackPort.isFree(port) {
                throw LaunchError.portTaken(port)
            }
            progress("starting Postgres and Redis")
            async let redis: Void = self.start(.redis)
            try await self.start(.postgres)
            try await redis
            progress("preparing the database")
            try await self.prepareDatabase()
            progress("starting \(self.instances.map(\.description).joined(separator: ", "))")
            for instance in self.instances { try await self.launch(instance) }
            for instance in self.instances { try await self.becomeReady(instance) }
            if self.configuration.hasRelay {
                progress("starting coturn")
                try await self.start(.relay)
            }
            progress("starting HAProxy")
            try await self.start(.balancer)
            try await self.waitUntilBalancerIsReady()
        } catch {
            await self.stop()
            throw error
        }
    }

    /// Ends everything: the services in order (their graceful drain), then the servers. A temporary folder is removed.
    package func stop() async {
        self.wanted = []
        let (gateways, others) = (
            self.services.filter { $0.key.isGateway }.values, self.services.filter { !$0.key.isGateway }.values
        )
        // Gateways first, so that what clients have sent still finds the services behind them.
        for group in [Array(gateways), Array(others)] {
            await withDiscardingTaskGroup { tasks in
                for process in group { tasks.addTask { await process.stop(timeout: Self.drainTimeout) } }
            }
        }
        self.services = [:]
        for pid in self.clockOwners { OwnClock.removeTraces(of: pid) }
        self.clockOwners = []
        await self.balancer.stop()
        await self.relay.stop()
        await self.guestRelay.stop()
        await self.redis.stop()
        await self.redisCluster?.stop()
        if self.temporary != nil { await self.postgres.kill() }  // its last checkpoint is of no use to anybody
        await self.postgres.stop()
        await self.cluster?.stop()
        self.lock = nil
        self.temporary?.remove()
    }

    /// Time a service gets to drain before it is killed.
    private static let drainTimeout = Duration.seconds(15)

    // MARK: One process

    /// Starts it, on the port it had, and returns when it is ready. Nothing happens if it runs.
    package func start(_ process: StackProcess) async throws {
        try await self.launch(process)
        if case .service = process { try await self.becomeReady(process) }
    }

    /// Asks it to end (SIGTERM: graceful drain) and waits for that.
    /// - Returns: how it ended; nil if it did not run, or is a server.
    @discardableResult
    package func stop(_ process: StackProcess) async -> ExitStatus? {
        self.wanted.remove(process)
        switch process {
        case .postgres:
            await self.postgres.stop()
            await self.cluster?.stop()
        case .redis:
            await self.redis.stop()
            await self.redisCluster?.stop()
        case .balancer: await self.balancer.stop()
        case .relay:
            await self.relay.stop()
            await self.guestRelay.stop()
        case .service: return await self.services[process]?.stop(timeout: Self.drainTimeout)
        }
        return nil
    }

    /// SIGKILL; returns when it is gone. `start` brings it back.
    package func kill(_ process: StackProcess) async {
        self.wanted.remove(process)
        switch process {
        case .postgres: await self.postgres.kill()
        case .redis:
            await self.redis.kill()
            for node in self.redisCluster?.nodes ?? [] { await node.kill() }
        case .balancer: await self.balancer.kill()
        case .relay:
            await self.relay.kill()
            await self.guestRelay.kill()
        case .service: await self.services[process]?.kill()
        }
    }

    /// Kills it and starts it again; returns when it is ready.
    package func restart(_ process: StackProcess) async throws {
        await self.kill(process)
        try await self.start(process)
    }

    /// Sends a signal to the process itself.
    package func signal(_ process: StackProcess, _ signal: ProcessSignal) async {
        await self.child(process)?.signal(signal)
    }

    /// Moves the wall clock of a service's process away from the machine's, within a second. Its other clocks go on.
    package nonisolated func setClock(of process: StackProcess, offBy seconds: Int) throws {
        try self.clock(of: process).set(offBy: seconds)
    }

    private nonisolated func clock(of process: StackProcess) -> OwnClock {
        OwnClock(of: process, in: self.folder, programs: self.configuration.programs)
    }

    /// FLUSHALL.
    package func flushRedis() async throws {
        if let redisCluster { try await redisCluster.flush() } else { try await self.redis.flush() }
    }

    /// Nil while it does not run.
    package func pid(of process: StackProcess) async -> pid_t? {
        guard let child = await self.child(process), child.isRunning else { return nil }
        return child.pid
    }

    /// CPU and memory of each running process.
    package func usage() async -> [ProcessUsage] {
        let table = ProcessTable()
        var usage: [ProcessUsage] = []
        for process in self.processes {
            guard let pid = await self.pid(of: process) else { continue }
            var roots = [pid]
            if process == .redis, let redisCluster { roots = await redisCluster.pids }
            usage.append(ProcessUsage(process, roots: roots, table: table))
        }
        return usage
    }

    /// Starts again whatever ends by itself or is killed by somebody else, until the task is cancelled.
    /// - Parameter report: called with a line for each.
    package func keepAlive(report: @Sendable (String) -> Void) async {
        let pause = Duration.seconds(2)
        while !Task.isCancelled {
            for process in self.processes where self.wanted.contains(process) {
                guard let child = await self.child(process), let status = child.exitStatus else { continue }
                guard self.wanted.contains(process) else { continue }
                report("\(process) ended (\(status)), starting it again; its log is \(self.log(of: process))")
                do {
                    try await self.launch(process)
                } catch {
                    report("\(error)")
                }
            }
            try? await Task.sleep(for: pause)
        }
    }

    // MARK: Steps

    private func child(_ process: StackProcess) async -> ChildProcess? {
        switch process {
        case .postgres: await self.postgres.child
        case .redis: if let redisCluster { await redisCluster.firstRunning } else { await self.redis.child }
        case .balancer: await self.balancer.child
        case .relay: await self.relay.child
        case .service: self.services[process]
        }
    }

    /// Starts it. Servers are ready on return, services are not yet.
    private func launch(_ process: StackProcess) async throws {
        self.wanted.insert(process)
        switch process {
        case .postgres:
            if let cluster { try await cluster.start() } else { try await self.postgres.start() }
        case .redis:
            if let redisCluster { try await redisCluster.start() } else { try await self.redis.start() }
        case .balancer: try await self.balancer.start()
        case .relay:
            try await self.relay.start()
            try await self.guestRelay.start()
        case .service(let service, let number):
            if let child = self.services[process], child.isRunning { return }
            let child = try await ChildProcess.start(self.command(service, number), name: process.description)
            self.services[process] = child
            if self.configuration.hasOwnClocks { self.clockOwners.append(child.pid) }
        }
    }

    /// Waits for the instance's own `/ready`.
    private func becomeReady(_ process: StackProcess) async throws {
        guard case .service(let service, let number) = process, let child = self.services[process],
            let port = self.ports[service, number]?.ops
        else { return }
        try await child.becomeReady { await LoopbackRequest.get("/ready", port: port)?.status == 200 }
    }

    private func waitUntilBalancerIsReady() async throws {
        try await waitUntil("the balancer sees every service ready", within: readyTimeout) {
            await LoopbackRequest.get("/ready", port: self.ports.ops)?.status == 200
        }
    }

    /// Database, owner, one role for each service, and the tables of each.
    private func prepareDatabase() async throws {
        let keepers = ServiceName.allCases.filter(\.keepsTables)
        // Patroni's is made with it (deploy/postgres/roles).
        if self.cluster == nil {
            try await self.postgres.createWhisperDatabase(owner: Self.ownerRole, roles: keepers.map(\.role))
        }
        for service in keepers where !(self.ports.services[service] ?? []).isEmpty {
            let log = "\(self.folder)/log/\(service.rawValue)-migrate.log"
            var command = self.command(service, nil)
            command.arguments = ["migrate"]
            command.environment["POSTGRES_URL"] = self.databaseURL(role: Self.ownerRole)
            if let cluster { command.environment["POSTGRES_PASSWORD_FILE"] = cluster.passwordFile(of: "owner") }
            command.log = log
            try await command.run(name: "\(service.rawValue) migrate")
        }
    }

    private static let ownerRole = "whisper"

    /// Where attachments are kept, unless their environment says otherwise.
    package nonisolated var attachmentsFolder: String { self.folder + "/attachments" }

    /// A libpq conninfo string for one role of the cluster's database.
    package nonisolated func databaseURL(role: String) -> String {
        self.cluster?.url(role: role) ?? self.postgres.url(database: "whisper", user: role)
    }

    private nonisolated func databaseURL(for service: ServiceName) -> String {
        guard let port = self.configuration.postgresDetour else { return self.databaseURL(role: service.role) }
        return "host=127.0.0.1 port=\(port) dbname=whisper user=\(service.role)"
    }

    /// - Parameter number: nil for a run that does not serve.
    private func command(_ service: ServiceName, _ number: Int?) -> Command {
        let instance = self.ports[service, number ?? 1]
        var environment = [
            "INSTANCE": "\(number ?? 1)",
            "LOG_LEVEL": self.configuration.logLevel,
            "OPS_HOST": "127.0.0.1",
            "OPS_PORT": "\(instance?.ops ?? 0)",
            "REDIS_HOST": "127.0.0.1",
            "REDIS_PORT": "\(self.configuration.redisDetour ?? self.ports.redis)",
            "RATE_LIMIT_SCALE": "\(self.configuration.rateLimitScale)",
            "TRUSTED_PROXIES": "127.0.0.1",
        ]
        if let nodes = self.redisCluster?.nodes {
            environment["REDIS_NODES"] = nodes.map { "127.0.0.1:\($0.port)" }.joined(separator: ",")
        }
        if let http = instance?.http {
            environment["HTTP_HOST"] = "127.0.0.1"
            environment["HTTP_PORT"] = "\(http)"
        }
        environment.merge(self.redisUsers.environment(of: service)) { $1 }
        if service.keepsTables {
            environment["POSTGRES_URL"] = self.databaseURL(for: service)
            if let cluster { environment["POSTGRES_PASSWORD_FILE"] = cluster.passwordFile(of: service.rawValue) }
        }
        if self.configuration.hasOwnClocks, let number {
            environment.merge(self.clock(of: .service(service, number)).environment) { $1 }
        }
        // A day's worth is no rate: a crowd's owner would use it up at once.
        if service == .router, self.configuration.rateLimitScale > 1 {
            environment["GROUP_STRANGERS_PER_DAY"] = "10000"
        }
        if service == .attachments {
            environment["DISK_FOLDER"] = self.attachmentsFolder
            environment["PUBLIC_URL"] = self.publicURL
            environment["SIGNING_SECRET"] = self.configuration.signingSecret
        }
        if service == .auth || service == .attachments {
            environment["ADMIN_TOKEN"] = self.configuration.adminToken
            environment["VIEWER_TOKEN"] = self.configuration.viewerToken
        }
        if service == .calls {
            environment["TURN_URLS"] = self.relay.urls.joined(separator: ",")
            environment["TURN_GUEST_URLS"] = self.guestRelay.urls.joined(separator: ",")
            environment["TURN_SECRET"] = self.configuration.turnSecret
        }
        environment.merge(self.configuration.environment[service] ?? [:]) { $1 }
        return Command(
            "\(self.configuration.programs)/whisper-\(service.rawValue)", environment: environment, folder: self.folder,
            log: self.log(of: .service(service, number ?? 1)))
    }
}

extension StackProcess {
    fileprivate var isGateway: Bool {
        if case .service(.gateway, _) = self { true } else { false }
    }
}

extension PostgresServer {
    /// The database `whisper`, its owner, and a role for each service. Doing it again changes nothing.
    fileprivate nonisolated func createWhisperDatabase(owner: String, roles: [String]) async throws {
        let names = ([owner] + roles).map { "'\($0)'" }.joined(separator: ", ")
        try await self.run(
            """
            DO $$ DECLARE name text; BEGIN
                FOREACH name IN ARRAY ARRAY[\(names)] LOOP
                    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
                        EXECUTE format('CREATE ROLE %I LOGIN', name);
                    END IF;
                END LOOP;
            END $$
            """)
        if try await self.run("SELECT count(*) FROM pg_database WHERE datname = 'whisper'") == "0" {
            try await self.run("CREATE DATABASE whisper OWNER \(owner)")
        }
        try await self.run(
            """
            REVOKE ALL ON DATABASE whisper FROM PUBLIC;
            GRANT CONNECT ON DATABASE whisper TO \(roles.joined(separator: ", "))
            """)
    }
}
