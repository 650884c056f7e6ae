import ClusterContract
import Contract
import RouterCore
import Testing

@Suite struct SegmentClearingTests {
    private static let owned: Set<Partition> = [Partition(3)!, Partition(5)!]

    @Test func aSegmentNeverUsedNeedsNothing() {
        var clearing = SegmentClearing()
        #expect(clearing.sees(1, isUsed: false, owned: Self.owned) == .none)
        #expect(clearing.segment == nil)
        #expect(clearing.next == nil)
    }

    @Test func itIsRecycledOnceEachPartitionHasBeenSeenThrough() {
        var clearing = SegmentClearing()
        #expect(clearing.sees(1, isUsed: true, owned: Self.owned) == .none)
        var seen: Set<PartitionRun> = []
        while let (segment, run) = clearing.next {
            #expect(segment == 1)
            #expect(clearing.sees(1, isUsed: true, owned: Self.owned) == .none)
            // More is left: the same again.
            clearing.moved(from: run, isAll: false)
            #expect(clearing.next?.run == run)
            clearing.moved(from: run, isAll: true)
            seen.insert(run)
        }
        #expect(seen == Set(PartitionRun.runs(of: Self.owned)))
        #expect(clearing.sees(1, isUsed: true, owned: Self.owned) == .recycle)
    }

    @Test func whatIsNotEmptyIsLookedThroughAgain() {
        var clearing = SegmentClearing()
        _ = clearing.sees(1, isUsed: true, owned: [])
        #expect(clearing.sees(1, isUsed: true, owned: []) == .recycle)
        clearing.isNotEmpty(owned: Self.owned)
        #expect(clearing.sees(1, isUsed: true, owned: Self.owned) == .none)
        #expect(clearing.next != nil)
    }

    @Test func anotherSegmentsTurnEndsTheWorkOnThisOne() {
        var clearing = SegmentClearing()
        _ = clearing.sees(1, isUsed: true, owned: Self.owned)
        _ = clearing.sees(2, isUsed: true, owned: Self.owned)
        #expect(clearing.next?.segment == 2)
        _ = clearing.sees(2, isUsed: false, owned: Self.owned)
        #expect(clearing.next == nil)
    }

    /// It was given up while a step of it was under way.
    @Test func aRunThatIsNotNextIsNotTakenOff() {
        var clearing = SegmentClearing()
        _ = clearing.sees(1, isUsed: true, owned: Self.owned)
        clearing.moved(from: PartitionRun(Partition(7)!...Partition(7)!), isAll: true)
        var left = 0
        while let (_, run) = clearing.next {
            clearing.skip(run)
            left += 1
        }
        #expect(left == 2)
    }
}
