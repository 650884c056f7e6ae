import Bus
import ClusterContract
import Contract
import LocalStack
import Synchronization
import TestKit
import Testing

@testable import RouterCore

/// Notices to gateways when partitions get an owner.
@Suite struct TakeoverTests {
    /// Each Notice has every gateway walk over all its connections.
    @Test func oneNoticeNamesAllPartitions() async throws {
        try await MailBench.run { bench in
            let heard = Heard()
            let listening = Task {
                try await bench.bus.subscribe(to: [Keyspace.nodes.name]) { heard.take($0) }
            }
            defer { listening.cancel() }
            try await waitUntil("the channel is heard", within: .seconds(10)) { heard.isListening }
            try await bench.withRouter(RouterConfiguration()) { _, _ in
                try await waitUntil("all are told", within: .seconds(30)) {
                    Set(heard.takeovers.joined()).count == Partition.count
                }
            }
            #expect(heard.takeovers == [Partition.all])
        }
    }
}

private final class Heard: Sendable {
    private let state = Mutex((isListening: false, takeovers: [[Partition]]()))

    var isListening: Bool { self.state.withLock { $0.isListening } }
    var takeovers: [[Partition]] { self.state.withLock { $0.takeovers } }

    func take(_ event: SubscriptionEvent) {
        switch event {
        case .subscribed: self.state.withLock { $0.isListening = true }
        case .subscriptionLost: break
        case .notice(_, let bytes):
            guard case .partitionsAdopted(let partitions) = try? ClusterNotice(decoding: bytes) else { return }
            self.state.withLock { $0.takeovers.append(partitions) }
        }
    }
}
