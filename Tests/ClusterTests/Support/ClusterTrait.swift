import Foundation
import LocalStack
import Synchronization
import TestKit
import Testing

/// The running cluster of the suite that a test stands in.
enum Cluster {
    @TaskLocal fileprivate static var running: LocalStack?

    static var stack: LocalStack {
        guard let running else { preconditionFailure("the suite has no .cluster trait") }
        return running
    }

    /// A client of the balancer, or of one gateway.
    static func client(gateway: Int? = nil, from address: String? = nil) async throws -> TestClient {
        let url = gateway.map { self.stack.endpoint(ofGateway: $0) } ?? self.stack.endpoint
        return try await TestClient.connect(to: url, from: address)
    }

    /// Somebody who has just logged in.
    static func phone(_ person: Person = Person(), gateway: Int? = nil) async throws -> Phone {
        try await person.logIn(on: try await self.client(gateway: gateway))
    }

    /// The same session on a new connection, which nothing is bound to yet.
    static func reconnected(_ phone: Phone, gateway: Int? = nil) async throws -> Phone {
        phone.moved(to: try await self.client(gateway: gateway))
    }

    /// Returns when people can log in and write to each other through every gateway: after a fault, what was lost with it
    /// is noticed one by one, and each time somebody is told INTERNAL_ERROR.
    static func calm() async throws {
        for gateway in [1, 2] {
            try await waitUntil("gateway \(gateway) serves", within: .seconds(30), every: .milliseconds(100)) {
                do {
                    let (one, other) = (try await self.phone(gateway: gateway), try await self.phone(gateway: gateway))
                    try await one.text(other)
                    try await other.text(one)
                    return true
                } catch {
                    return false
                }
            }
        }
    }

    /// Returns when each instance of the services that share work has its share. A client that is served while shares
    /// move, in a cluster's first seconds, may wait longer and receive some frames twice.
    fileprivate static func settled() async throws {
        for (service, locks) in [(ServiceName.router, 7_007), (.calls, 7_003), (.calls, 7_009), (.calls, 7_011)] {
            let instances = self.stack.configuration.instances[service] ?? 0
            guard instances > 1 else { continue }
            try await waitUntil("each \(service) has its share", within: .seconds(60), every: .milliseconds(100)) {
                let shares = try await self.database(
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND granted AND classid = \(locks) GROUP BY pid"
                ).split(separator: "\n").compactMap { Int($0) }
                guard let most = shares.max(), let least = shares.min() else { return false }
                return shares.count == instances && most - least <= 1
            }
        }
    }

    /// Answer of the database, for facts that no client can see.
    static func database(_ sql: String) async throws -> String {
        try await self.stack.postgres.run(sql, database: "whisper")
    }
}

/// One cluster for all tests of a suite, from its first to its last. Suites of the same configuration share one, one suite
/// after the other.
struct ClusterTrait: SuiteTrait, TestScoping {
    fileprivate var use: Turns.Use
    fileprivate var configure: @Sendable (inout StackConfiguration) -> Void

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        var configuration = StackConfiguration()
        configuration.rateLimitScale = 1_000
        // To find out why a test fails: LOG_LEVEL=debug KEEP_FOLDERS=1 swift test …
        if let level = ProcessInfo.processInfo.environment["LOG_LEVEL"] { configuration.logLevel = level }
        self.configure(&configuration)
        // Each cluster waits for its shares (`Cluster.settled`), and again after each fault.
        for service in [ServiceName.router, .calls] {
            configuration.environment[service, default: [:]]["LEASE_INTERVAL_MILLISECONDS"] = "250"
        }
        let turn = await Turns.shared.take(self.use, with: configuration)
        do {
            let stack = if let left = turn.stack { left } else { try await LocalStack.start(configuration) }
            do {
                try await Cluster.$running.withValue(stack) {
                    try await Cluster.settled()
                    // Something may have happened to it last.
                    if turn.stack != nil { try await Cluster.calm() }
                    try await function()
                }
            } catch {
                await stack.stop()
                throw error
            }
            let errors = stack.processes.flatMap { StackLog.errors(in: stack.log(of: $0)).prefix(3) }
            // A line of level `error` means that a person must act. No test is a reason for that.
            for line in errors { Issue.record("\(line)") }
            if errors.isEmpty, await Turns.shared.pass(turn, with: stack) { return }
            await stack.stop()
        } catch {
            await Turns.shared.end(turn)
            throw error
        }
        await Turns.shared.end(turn)
    }
}

extension Trait where Self == ClusterTrait {
    /// Limits are out of the way unless `configure` says otherwise.
    static func cluster(_ configure: @escaping @Sendable (inout StackConfiguration) -> Void = { _ in }) -> ClusterTrait
    {
        self.cluster(.quiet, configure)
    }

    static func cluster(
        _ use: Turns.Use, _ configure: @escaping @Sendable (inout StackConfiguration) -> Void = { _ in }
    ) -> ClusterTrait {
        ClusterTrait(use: use, configure: configure)
    }
}

/// For suites that start clusters of their own, one after the other.
struct OwnClustersTrait: SuiteTrait, TestScoping {
    fileprivate var use: Turns.Use

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        let turn = await Turns.shared.take(self.use, with: nil)
        do {
            try await function()
        } catch {
            await Turns.shared.end(turn)
            throw error
        }
        await Turns.shared.end(turn)
    }
}

extension Trait where Self == OwnClustersTrait {
    static func ownClusters(_ use: Turns.Use = .quiet) -> OwnClustersTrait { OwnClustersTrait(use: use) }
}
