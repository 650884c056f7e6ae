import Bus
import ClusterContract
import Contract
import Testing

@testable import GatewayCore

/// How a gateway knows how much waits in the streams that it writes to.
@Suite(.timeLimit(.minutes(20))) struct PartitionDepthTests {
    private let partition = Partition.all[3]

    @Test func aStreamIsAskedForUntilItIsSeenEmpty() {
        var depths = PartitionDepths()
        #expect(depths.takeUnsettled().isEmpty)
        depths.appended(to: self.partition)
        #expect(depths.takeUnsettled() == [self.partition])
        depths.saw([GatewayLimits.partitionDepthMax], of: [self.partition])
        #expect(depths.isFull(self.partition))
        #expect(!depths.isFull(Partition.all[4]))
        #expect(depths.takeUnsettled() == [self.partition])
        depths.saw([0], of: [self.partition])
        #expect(!depths.isFull(self.partition))
        #expect(depths.takeUnsettled().isEmpty)
    }

    @Test func aStreamIsAskedForAgainIfTheBusWasAway() {
        var depths = PartitionDepths()
        depths.appended(to: self.partition)
        depths.sawNothing(of: depths.takeUnsettled())
        #expect(depths.takeUnsettled() == [self.partition])
    }

    @Test func onlyStreamsThatWereWrittenToAreAskedFor() async throws {
        try await GatewayBench.run { bench in
            let session = Session.of(identity: "WSP-JBPU-D452-TLT4", token: token)
            _ = try await bench.boundClient(session)
            while bench.bus.depthsAsked.isEmpty { try await Task.sleep(for: .milliseconds(1)) }
            let written = Keyspace.mailbox(Partition(of: session.caller.identity)).name
            #expect(bench.bus.depthsAsked.allSatisfy { $0 == [written] })
        }
    }
}
