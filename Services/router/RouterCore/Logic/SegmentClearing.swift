package import ClusterContract
import Contract

/// The rows that one router has yet to move out of a young segment before it can be emptied. They belong to its own
/// partitions. It moves one run of partitions after the other, between its batches. Another router's rows are that
/// router's work.
///
/// Pure: holds no store. Losing it, or doing it twice, does no harm.
package struct SegmentClearing: Hashable, Sendable {
    package enum Action: Hashable, Sendable {
        case none
        /// The router's own rows are out.
        case recycle
    }

    package private(set) var segment: Int16?
    private var runs: [PartitionRun] = []

    package init() {}

    /// Where to move rows from next.
    package var next: (segment: Int16, run: PartitionRun)? {
        guard let segment = self.segment, let run = self.runs.last else { return nil }
        return (segment, run)
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
            self.runs = PartitionRun.runs(of: owned)
            return .none
        }
        return self.runs.isEmpty ? .recycle : .none
    }

    /// Not all rows were out: other routers', or of a partition taken since.
    package mutating func isNotEmpty(owned: some Collection<Partition>) { self.runs = PartitionRun.runs(of: owned) }

    /// - Parameter isAll: nothing of the run is left there.
    package mutating func moved(from run: PartitionRun, isAll: Bool) {
        if isAll, self.runs.last == run { self.runs.removeLast() }
    }

    /// One of the run is another router's now, or it cannot be dealt with; its rows are found again if they are still there.
    package mutating func skip(_ run: PartitionRun) { self.moved(from: run, isAll: true) }
}
