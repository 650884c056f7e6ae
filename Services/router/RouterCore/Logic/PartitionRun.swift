package import ClusterContract
import Contract

/// Neighbouring partitions of one owner. A statement that looks through mailboxes takes a run at once: one for each partition would be
/// many, and one for all would let whatever is wrong with one mailbox stop the others.
package struct PartitionRun: Hashable, Sendable {
    package let partitions: ClosedRange<Partition>

    package init(_ partitions: ClosedRange<Partition>) { self.partitions = partitions }

    package var count: Int { self.partitions.upperBound.index - self.partitions.lowerBound.index + 1 }

    /// The ids of its partitions, as the integers they are stored as.
    package var identities: ClosedRange<Int64> {
        self.partitions.lowerBound.identities.lowerBound...self.partitions.upperBound.identities.upperBound
    }

    /// Numbers of its partitions, by which the kept segment has an index of ages (`027_partitions.sql`).
    var numbers: [Int64] {
        (self.partitions.lowerBound.index...self.partitions.upperBound.index).map { Int64($0) }
    }

    /// All of them in order, each of `RouterLimits.partitionsTogetherMax` at most.
    package static func runs(of partitions: some Collection<Partition>) -> [PartitionRun] {
        var runs: [PartitionRun] = []
        for partition in partitions.sorted() {
            if let last = runs.last, last.count < RouterLimits.partitionsTogetherMax,
                last.partitions.upperBound.index + 1 == partition.index
            {
                runs[runs.count - 1] = PartitionRun(last.partitions.lowerBound...partition)
            } else {
                runs.append(PartitionRun(partition...partition))
            }
        }
        return runs
    }

    /// Whether all of its partitions are among these.
    package func isWithin(_ isOwned: (Partition) -> Bool) -> Bool {
        Partition.all[self.partitions.lowerBound.index...self.partitions.upperBound.index].allSatisfy(isOwned)
    }
}
