import ClusterContract
import Contract

/// Jobs waiting in each partition's stream, as last seen. Only partitions that this gateway writes to are asked for.
struct PartitionDepths {
    private var depths = [Int](repeating: 0, count: Partition.count)
    /// Written to since the last look, or not found empty by it.
    private var unsettled: Set<Partition> = []

    func isFull(_ partition: Partition) -> Bool { self.depths[partition.index] >= GatewayLimits.partitionDepthMax }

    mutating func appended(to partition: Partition) { self.unsettled.insert(partition) }

    /// Partitions that the next look measures. The caller then reports `saw`, or `sawNothing` if the bus was away.
    mutating func takeUnsettled() -> [Partition] {
        defer { self.unsettled = [] }
        return self.unsettled.sorted()
    }

    mutating func saw(_ depths: [Int], of partitions: [Partition]) {
        for (partition, depth) in zip(partitions, depths) {
            self.depths[partition.index] = depth
            if depth > 0 { self.unsettled.insert(partition) }
        }
    }

    /// Nobody knows how many wait: the next look asks again.
    mutating func sawNothing(of partitions: [Partition]) { self.unsettled.formUnion(partitions) }
}
