import ClusterContract
import Contract
import RouterCore
import Testing

@Suite struct PartitionRunTests {
    @Test func allPartitionsAreInOneRunEach() {
        var random = SystemRandomNumberGenerator()
        for _ in 0..<200 {
            let share = Double.random(in: 0...1, using: &random)
            let owned = Partition.all.filter { _ in Double.random(in: 0...1, using: &random) < share }.shuffled()
            let runs = PartitionRun.runs(of: owned)
            var partitions: [Partition] = []
            for run in runs {
                #expect(run.count <= RouterLimits.partitionsTogetherMax)
                #expect(run.isWithin { owned.contains($0) })
                let its = Partition.all.filter { run.partitions.contains($0) }
                #expect(its.count == run.count)
                #expect(its.first?.identities.lowerBound == run.identities.lowerBound)
                #expect(its.last?.identities.upperBound == run.identities.upperBound)
                partitions += its
            }
            #expect(partitions == owned.sorted())
        }
    }

    /// As many statements as there were with a quarter of the partitions, and fewer.
    @Test func neighboursGoTogether() {
        #expect(PartitionRun.runs(of: Partition.all).count == Partition.count / RouterLimits.partitionsTogetherMax)
        #expect(PartitionRun.runs(of: [Partition(3)!, Partition(5)!, Partition(4)!]).count == 1)
        #expect(PartitionRun.runs(of: [Partition(3)!, Partition(5)!]).count == 2)
        #expect(PartitionRun.runs(of: []).isEmpty)
    }

    @Test func aRunOfWhichOneIsAnothersIsNotOurs() {
        let run = PartitionRun(Partition(3)!...Partition(5)!)
        #expect(run.isWithin { _ in true })
        #expect(!run.isWithin { $0.index != 4 })
    }
}
