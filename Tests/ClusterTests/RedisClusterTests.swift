import ClusterContract
import Contract
import LocalStack
import TestKit
import Testing

/// The promises of `MistreatedCluster`, with a Redis Cluster of three masters and three replicas.
@Suite(
    .serialized,
    .cluster(.busy) {
        $0.busMasters = 3
        $0.environment[.router] = ["RESEND_AFTER_SECONDS": "3"]
    })
struct RedisClusterTests {
    enum Fault: CaseIterable, Sendable {
        case nothing, masterKilled, masterFrozen, streamMoved

        /// To the master of the first stream of mail.
        func happen(to cluster: RedisClusterServers) async throws {
            let stream = Keyspace.mailbox(Partition.all[0]).name
            switch self {
            case .nothing: break
            case .masterKilled:
                let master = try await cluster.master(of: stream)
                await master.kill()
                try await waitUntil("a replica has taken over", within: .seconds(60)) {
                    (try? await cluster.master(of: stream)) != nil
                }
                try await master.start()
                try await cluster.untilWhole()
            case .masterFrozen:
                let master = try await cluster.master(of: stream)
                await master.signal(.pause)
                try await Task.sleep(for: Self.frozenFor)
                await master.signal(.resume)
                try await cluster.untilWhole()
            case .streamMoved: try await cluster.move(stream)
            }
        }

        /// Longer than the others wait before a replica takes over.
        private static let frozenFor = Duration.seconds(10)

        var onTheWay: Duration { self == .nothing ? .zero : Self.frozenFor + .seconds(2) }
    }

    @Test(arguments: Prove.all(Fault.allCases, butInShort: [.masterKilled, .streamMoved]))
    func everyPromiseIsKeptAfter(_ fault: Fault) async throws {
        try await Cluster.calm()
        let traffic = try await Traffic(pairs: 4, seed: 7, on: Cluster.stack)
        try await traffic.run(onTheWay: fault.onTheWay) {
            try await fault.happen(to: try #require(Cluster.stack.redisCluster))
        }
    }
}
