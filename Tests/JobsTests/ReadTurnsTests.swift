import Bus
import ClusterContract
import Contract
import Testing

@testable import Jobs

@Suite struct ReadTurnsTests {
    /// Nothing is left out, and no read names more than can be held.
    @Test func newSharesHaveATurnEach() {
        var turns = ReadTurns<Partition>()
        turns.startOver(with: Partition.all)
        #expect(self.takeAll(&turns) == Partition.all)
    }

    @Test func whatWasCutIsFirst() {
        var turns = ReadTurns<Partition>()
        #expect(!turns.areTaken(by: Partition.count))
        let cut = Set(Partition.all.suffix(100))
        turns.hasRead(Partition.all, cut: cut, of: Partition.all)
        let named = self.takeAll(&turns)
        #expect(Set(named.prefix(100)) == cut)
        #expect(Set(named).count == Partition.count && named.count == Partition.count)
    }

    @Test func whatIsGivenUpHasNoTurn() {
        var turns = ReadTurns<Partition>()
        turns.startOver(with: Partition.all)
        turns.remove(Array(Partition.all.prefix(100)))
        #expect(self.takeAll(&turns) == Array(Partition.all.dropFirst(100)))
    }

    @Test func asManyAsOneReadHoldsAreReadAtOnce() {
        var turns = ReadTurns<Partition>()
        turns.startOver(with: Partition.all)
        #expect(turns.areTaken(by: BusLimits.readStreamsMax + 1))
        #expect(!turns.areTaken(by: BusLimits.readStreamsMax))
    }

    /// In the order of their turns.
    private func takeAll(_ turns: inout ReadTurns<Partition>) -> [Partition] {
        var named: [Partition] = []
        while turns.areTaken(by: Partition.count) {
            let next = turns.next
            #expect(!next.isEmpty && next.count <= BusLimits.readStreamsMax)
            named += next
            turns.hasRead(next, cut: [], of: Partition.all)
        }
        return named
    }
}
