import Foundation
import LocalStack
import TestKit
import Testing

/// Suites that break their cluster share this one, one after the other. Mail that is not acknowledged is sent again after 3 s.
let mistreated: @Sendable (inout StackConfiguration) -> Void = {
    $0.environment[.router] = ["RESEND_AFTER_SECONDS": "3"]
}

/// The cluster's promises while its parts die: nothing accepted is lost, nothing acknowledged comes twice, the order
/// stays, receipts arrive, sessions live. Eight people write through all of it.
@Suite(.serialized, .cluster(.busy, mistreated)) struct MistreatedCluster {
    enum Fault: String, CaseIterable, Sendable {
        case nothing, routerKilled, gatewayKilled, authKilled, pushKilled, redisKilled, redisFlushed, postgresKilled
        case routerFrozen, gatewayFrozen, routerStopped, gatewayStopped, everythingAtOnce

        func happen(to stack: LocalStack) async throws {
            switch self {
            case .nothing: break
            case .routerKilled: try await stack.restart(.router(1))
            case .gatewayKilled: try await stack.restart(.gateway(1))
            case .authKilled: try await stack.restart(.auth(1))
            case .pushKilled: try await stack.restart(.push(1))
            case .redisKilled: try await stack.restart(.redis)
            case .redisFlushed: try await stack.flushRedis()
            case .postgresKilled: try await stack.restart(.postgres)
            case .routerFrozen: try await Self.freeze(.router(1), on: stack)
            case .gatewayFrozen: try await Self.freeze(.gateway(1), on: stack)
            case .routerStopped: try await Self.stop(.router(2), on: stack)
            case .gatewayStopped: try await Self.stop(.gateway(2), on: stack)
            case .everythingAtOnce:
                for process in [StackProcess.router(2), .gateway(1), .redis, .postgres] { await stack.kill(process) }
                for process in [StackProcess.postgres, .redis, .router(2), .gateway(1)] {
                    try await stack.start(process)
                }
            }
        }

        /// Longer than the other router waits before it takes the frozen one's place.
        private static let frozenFor = Duration.seconds(8)

        private static func freeze(_ process: StackProcess, on stack: LocalStack) async throws {
            await stack.signal(process, .pause)
            try await Task.sleep(for: self.frozenFor)
            await stack.signal(process, .resume)
        }

        /// A graceful end is one: with status 0, well inside the launcher's timeout.
        private static func stop(_ process: StackProcess, on stack: LocalStack) async throws {
            #expect(await stack.stop(process) == .exited(0))
            try await stack.start(process)
        }

        /// A frozen process sends the messages that it holds when it thaws.
        var onTheWay: Duration {
            switch self {
            case .nothing: .zero
            case .routerFrozen, .gatewayFrozen: Self.frozenFor + .seconds(2)
            default: .seconds(2)
            }
        }
    }

    /// Seed of the messages: which, how many and when. `SEED=8 swift test …` tries another course of events.
    private static let seed = ProcessInfo.processInfo.environment["SEED"].flatMap { UInt64($0) } ?? 7

    /// `FAULT=redisKilled swift test …` looks at one of them alone.
    private static let faults =
        ProcessInfo.processInfo.environment["FAULT"].flatMap { Fault(rawValue: $0) }.map { [$0] }
        ?? Prove.all(
            Fault.allCases,
            butInShort: [
                .routerKilled, .redisFlushed, .postgresKilled, .routerFrozen, .gatewayStopped, .everythingAtOnce,
            ])

    @Test(arguments: Self.faults)
    func everyPromiseIsKeptAfter(_ fault: Fault) async throws {
        try await Cluster.calm()
        let stack = Cluster.stack
        let traffic = try await Traffic(pairs: 4, seed: Self.seed, on: stack)
        try await traffic.run(onTheWay: fault.onTheWay) { try await fault.happen(to: stack) }
    }
}
