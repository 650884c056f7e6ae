package import Contract

/// What one router has yet to move out of one young segment before it can be emptied: the rows of its own partitions, one
/// partition after the other, between its batches. Another router's rows are that router's work.
///
/// Pure: holds no store. Losing it, or doing it twice, does no harm.
package struct SegmentClearing: Hashable, Sendable {
    package enum Action: Hashable, Sendable {
        case none
        /// The router's own rows are out.
        case recycle
    }

    package private(set) var segment: Int16?
    private var partitions: [Partition] = []

    package init() {}

    /// Where to move rows from next.
    package var next: (segment: Int16, partition: Partition)? {
        guard let segment = self.segment, let partition = self.partitions.last else { return nil }
        return (segment, partition)
    }

    /// The segment whose turn comes next has been looked at.
    /// - Parameter isUsed: there is something in it, or was.
    package mutating func sees(_ segment: Int16, isUsed: Bool, owned: some Collection<Partition>) -> Action {
        guard isUsed else {
            self = SegmentClearing()
            return .none
        }
        guard self.segment == segment else {
            self.segment = segment
            self.partitions = Array(owned)
            return .none
        }
        return self.partitions.isEmpty ? .recycle : .none
    }

    /// Not all rows were out: other routers', or of a partition taken since.
    package mutating func isNotEmpty(owned: some Collection<Partition>) { self.partitions = Array(owned) }

    /// - Parameter isAll: nothing of the partition is left there.
    package mutating func moved(from partition: Partition, isAll: Bool) {
        if isAll, self.partitions.last == partition { self.partitions.removeLast() }
    }

    /// The partition is another router's now, or cannot be dealt with; its rows are found again if they are still there.
    package mutating func skip(_ partition: Partition) { self.moved(from: partition, isAll: true) }
}
