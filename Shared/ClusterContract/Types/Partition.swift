package import Contract

/// A share of all mailboxes. Everything that concerns one recipient's mailbox goes through one partition, in order;
/// one router at a time owns a partition.
///
/// The partition is the first eight bits of the Whisper ID, so the mailboxes of a partition are one contiguous range of ids.
package struct Partition: Hashable, Comparable, Sendable {
    package let index: Int

    /// Also the largest number of routers that share the work.
    package static let count = 256
    package static let all = (0..<Self.count).map { Partition(index: $0) }

    private init(index: Int) { self.index = index }

    package init?(_ index: Int) {
        guard (0..<Self.count).contains(index) else { return nil }
        self.index = index
    }

    package init(of id: WhisperID) {
        self.index = Int(id.bits >> Self.idShift)
    }

    /// Bits of an id behind those that select its partition.
    package static let idShift = 52

    /// The ids of this partition, as the integers they are stored as.
    package var identities: ClosedRange<Int64> {
        let width: Int64 = 1 << Self.idShift
        return Int64(self.index) * width...Int64(self.index) * width + (width - 1)
    }

    package static func < (a: Partition, b: Partition) -> Bool { a.index < b.index }
}
