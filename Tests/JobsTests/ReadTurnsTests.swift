import Bus
import Contract
import Testing

@testable import Jobs

@Suite struct ReadTurnsTests {
    private let few = BusLimits.readStreamsMax

    /// Nothing is left out, and no read names more than can be held.
    @Test func newSharesHaveATurnEach() {
        var turns = ReadTurns<Partition>()
        let owned = Partition.all
        turns.startOver(with: owned)
        var named: [Partition] = []
        while !turns.next(of: owned).isAll {
            let shares = turns.next(of: owned).shares
            #expect(shares.count <= self.few)
            named += shares
            turns.hasRead(shares, cut: [], of: owned)
        }
        #expect(named == owned)
        #expect(Set(turns.next(of: owned).shares) == Set(owned))
    }

    @Test func whatWasCutIsFirst() {
        var turns = ReadTurns<Partition>()
        #expect(turns.next(of: Partition.all).isAll)
        let cut = Set(Partition.all.suffix(100))
        turns.hasRead(Partition.all, cut: cut, of: Partition.all)
        var named: [Partition] = []
        while !turns.next(of: Partition.all).isAll {
            named += turns.next(of: Partition.all).shares
            turns.hasRead(turns.next(of: Partition.all).shares, cut: [], of: Partition.all)
        }
        #expect(Set(named.prefix(100)) == cut)
        #expect(named.count == Partition.count)
    }

    /// What is given up meanwhile has no turn, and what is left fits into one read.
    @Test func fewSharesAreReadAtOnce() {
        var turns = ReadTurns<Partition>()
        turns.startOver(with: Partition.all)
        #expect(!turns.next(of: Partition.all).isAll)
        let kept = Partition.all.prefix(self.few)
        #expect(turns.next(of: kept).isAll)
        turns.hasRead(Array(kept), cut: [], of: kept)
        // More come, and have turns when they are taken.
        #expect(turns.next(of: Partition.all).isAll)
    }
}
