import Bus
import Foundation
import LocalStack
import Logging
import NIOPosix
import RedisBus
import Telemetry
import TestKit

/// Implementations that have to keep the promises of `Bus`.
enum BusKind: CaseIterable, Sendable {
    case memory, redis, cluster

    /// Without a Redis on this machine its half is left out, but never in CI.
    static var present: [BusKind] { RedisServer.isExpected ? [.memory, .redis, .cluster] : [.memory] }

    /// Gives `body` a new, empty bus.
    func run(_ body: (BusUnderTest) async throws -> Void) async throws {
        switch self {
        case .memory:
            let bus = MemoryBus()
            try await body(BusUnderTest(bus: bus) { bus.forgetEverything() })
        case .cluster:
            try await RedisClusterServers.run { cluster in
                let bus = RedisBus(cluster)
                try await bus.waitUntilConnected(for: .seconds(5))
                try await body(BusUnderTest(bus: bus) { try await cluster.flush() })
                await bus.close()
            }
        case .redis:
            try await RedisServer.run { server in
                let bus = RedisBus(server)
                try await bus.waitUntilConnected(for: .seconds(5))
                try await body(BusUnderTest(bus: bus) { try await server.flush() })
                await bus.close()
            }
        }
    }
}

struct BusUnderTest {
    let bus: any Bus
    /// The server loses its memory.
    let forgetEverything: () async throws -> Void
}

extension RedisServer {
    static var isExpected: Bool {
        FileManager.default.fileExists(atPath: "/usr/bin/redis-server")
            || ProcessInfo.processInfo.environment["CI"] != nil
    }

    /// Gives `body` a new server.
    static func run(arguments: [String] = [], _ body: (RedisServer) async throws -> Void) async throws {
        let server = try await RedisServer.temporary(arguments: arguments)
        do {
            try await body(server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }
}

extension RedisClusterServers {
    /// Gives `body` a new cluster.
    static func run(_ body: (RedisClusterServers) async throws -> Void) async throws {
        let cluster = try await RedisClusterServers.temporary()
        do {
            try await body(cluster)
        } catch {
            await cluster.stop()
            throw error
        }
        await cluster.stop()
    }
}

extension RedisBus {
    convenience init(_ cluster: RedisClusterServers) {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        self.init(
            configuration: RedisConfiguration(
                nodes: cluster.nodes.map { RedisAddress(host: "127.0.0.1", port: $0.port) }),
            eventLoop: MultiThreadedEventLoopGroup.singleton.next(), logger: logger)
    }

    convenience init(_ server: RedisServer, password: Secret? = nil) {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        self.init(
            configuration: RedisConfiguration(port: server.port, password: password),
            eventLoop: MultiThreadedEventLoopGroup.singleton.next(), logger: logger)
    }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

extension [StreamEntry] {
    var texts: [String] { self.map { String(decoding: $0.bytes, as: UTF8.self) } }
}
