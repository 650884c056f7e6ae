package import Contract

/// Which partitions one router should take or give up, so that all of them have an owner and no router has more than its
/// share. Every router decides this for itself, from what the database says.
package enum PartitionShare {
    package struct Decision: Equatable {
        package var take: [Partition]
        package var giveUp: [Partition]
    }

    /// - Parameters:
    ///   - mine: partitions that this router owns.
    ///   - taken: partitions that any router owns, this one included.
    ///   - members: routers alive, this one included.
    package static func decide(mine: Set<Partition>, taken: Set<Partition>, members: Int) -> Decision {
        let share = (Partition.count + members - 1) / members
        if mine.count > share {
            return Decision(take: [], giveUp: Array(mine.sorted().suffix(mine.count - share)))
        }
        let free = Partition.all.filter { !taken.contains($0) }
        return Decision(take: Array(free.prefix(share - mine.count)), giveUp: [])
    }
}
