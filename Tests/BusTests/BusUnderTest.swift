import Bus
import Foundation
import LocalStack
import Logging
import NIOPosix
import RedisBus
import Telemetry
import TestKit

/// Who has to keep the promises of `Bus`.
enum BusKind: CaseIterable, Sendable {
    case memory, redis

    /// Without a Redis on this machine its half is left out, but never in CI.
    static var present: [BusKind] { RedisServer.isExpected ? [.memory, .redis] : [.memory] }

    /// Gives `body` a new, empty bus.
    func run(_ body: (BusUnderTest) async throws -> Void) async throws {
        switch self {
        case .memory:
            let bus = MemoryBus()
            try await body(BusUnderTest(bus: bus) { bus.forgetEverything() })
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
    static func run(_ body: (RedisServer) async throws -> Void) async throws {
        let server = try await RedisServer.temporary()
        do {
            try await body(server)
        } catch {
            await server.stop()
            throw error
        }
        await server.stop()
    }
}

extension RedisBus {
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
