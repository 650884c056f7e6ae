import Foundation

/// Configuration of one stack. Plain data: two stacks can run side by side.
package struct StackConfiguration: Equatable, Sendable {
    /// Where everything is kept; a temporary folder that `stop` removes when nil.
    package var folder: String?
    /// Where the built executables stand.
    package var programs: String
    /// Instances of each service; 0 leaves it out.
    package var instances: [ServiceName: Int] = [
        .gateway: 2, .router: 2, .auth: 1, .push: 1, .attachments: 1, .calls: 1,
    ]
    /// Ports of the balancer; free ones when nil.
    package var port: Int?
    package var opsPort: Int?
    /// Port of the relay; a free one when nil.
    package var turnPort: Int?
    /// Whether relays (coturn) run beside the services: one, and one for guests.
    package var hasRelay = false
    /// Tokens of the two admin roles.
    package var adminToken = randomToken()
    package var viewerToken = randomToken()
    /// Secret that only the relay and the calls service know.
    package var turnSecret = randomToken()
    /// Signs the URLs of attachments kept on disk.
    package var signingSecret = randomToken()
    /// Multiplies every limit of the cluster.
    package var rateLimitScale = 1.0
    /// The balancer's limits for one address. Nil: the contract's, times `rateLimitScale` if that is above 1: all
    /// clients here come from one address.
    package var addressLimits: AddressLimits?
    /// Threads of the balancer, 1...64; as many as there are cores when nil.
    package var balancerThreads: Int?
    /// Level of the services' logs (swift-log's names).
    package var logLevel = "notice"
    /// More settings of Postgres, `name=value`.
    package var postgresSettings: [String] = []
    /// Three Postgres under Patroni in place of one (`PatroniCluster`).
    package var failsOver = false
    /// Then: whether a commit waits for a standby.
    package var waitsForStandby = true
    /// Masters of a Redis Cluster in place of one Redis (`RedisClusterServers`); 0 for the one.
    package var busMasters = 0
    /// Then: where its nodes look for each other, one for each node: ports of proxies. Empty: at the nodes themselves.
    package var busDetours: [Int] = []
    /// Where the services find Redis and Postgres instead of at the servers themselves: ports of proxies.
    package var redisDetour: Int?
    package var postgresDetour: Int?
    /// Whether the wall clock of each service's process can be set by itself (`LocalStack.setClock`). Takes libfaketime.
    package var hasOwnClocks = false
    /// More environment for all instances of a service.
    package var environment: [ServiceName: [String: String]] = [:]

    package init(folder: String? = nil, programs: String = programsBesideThisOne) {
        self.folder = folder
        self.programs = programs
    }

    /// The folder that holds the running executable: all products of one build stand together.
    package static var programsBesideThisOne: String {
        let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (own as NSString).deletingLastPathComponent
    }

    /// 32 random hexadecimal digits.
    package static func randomToken() -> String {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in
            let byte = UInt8.random(in: .min ... .max, using: &generator)
            return String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }.joined()
    }
}

/// TCP connections that the balancer admits of one address (contract §13a, Transport).
package struct AddressLimits: Equatable, Sendable {
    /// At a time.
    package var connectionsMax: Int
    /// New ones.
    package var connectionsPerMinute: Int

    package init(connectionsMax: Int, connectionsPerMinute: Int) {
        self.connectionsMax = connectionsMax
        self.connectionsPerMinute = connectionsPerMinute
    }

    package static let standard = AddressLimits(connectionsMax: 600, connectionsPerMinute: 1_200)

    /// Never below the contract's.
    package func scaled(by factor: Double) -> AddressLimits {
        // More than any machine has.
        func scaled(_ value: Int) -> Int { Int(min(1_000_000_000, Double(value) * max(1, factor))) }
        return AddressLimits(
            connectionsMax: scaled(self.connectionsMax), connectionsPerMinute: scaled(self.connectionsPerMinute))
    }
}

/// Where everything of one stack listens, on 127.0.0.1.
package struct StackPorts: Sendable {
    /// One instance: `http` only if the service has a public listener.
    package struct Instance: Sendable {
        package var http: Int?
        package var ops: Int
    }
    package var `public`: Int
    package var ops: Int
    package var postgres: Int
    package var redis: Int
    /// The relays', for UDP and TCP.
    package var turn: Int
    package var guestTurn: Int
    /// Instance n stands at n - 1.
    package var services: [ServiceName: [Instance]]

    /// The ports asked for, and free ones for all others.
    package init(_ configuration: StackConfiguration) {
        self.public = configuration.port ?? LoopbackPort.free()
        self.ops = configuration.opsPort ?? LoopbackPort.free()
        self.postgres = LoopbackPort.free()
        self.redis = LoopbackPort.free()
        self.turn = configuration.turnPort ?? LoopbackPort.free()
        self.guestTurn = LoopbackPort.free()
        self.services = [:]
        for service in ServiceName.allCases {
            self.services[service] = (0..<(configuration.instances[service] ?? 0)).map { _ in
                Instance(http: service.servesHTTP ? LoopbackPort.free() : nil, ops: LoopbackPort.free())
            }
        }
    }

    package subscript(service: ServiceName, number: Int) -> Instance? {
        guard let instances = self.services[service], (1...max(1, instances.count)).contains(number),
            !instances.isEmpty
        else { return nil }
        return instances[number - 1]
    }
}
