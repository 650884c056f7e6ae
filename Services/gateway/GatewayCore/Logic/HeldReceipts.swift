package import ClusterContract
import Contract

/// Receipts that have not been appended to their partitions' streams yet.
///
/// No client waits for a receipt, and each append may wake a router. So while several come, receipts gather for
/// `GatewayLimits.receiptsHeldFor`, or until there are `GatewayLimits.receiptsHeldMax`. Then they leave in one write. A
/// receipt lost with its gateway does no harm: its message comes again.
package struct HeldReceipts {
    package struct Receipt {
        package var report: ReceiptReport
        /// Which connection has sent it.
        package var connection: ConnectionID
    }

    private var byPartition: [Partition: [Receipt]] = [:]
    package private(set) var count = 0

    package init() {}

    package var isFull: Bool { self.count >= GatewayLimits.receiptsHeldMax }

    package mutating func add(_ receipt: Receipt, to partition: Partition) {
        self.byPartition[partition, default: []].append(receipt)
        self.count += 1
    }

    /// The receipts of one partition, in their order. They are appended before anything else to its stream: a page must
    /// not show mail that its reader has acknowledged before asking.
    package mutating func take(of partition: Partition) -> [Receipt] {
        guard self.count > 0, let receipts = self.byPartition.removeValue(forKey: partition) else { return [] }
        self.count -= receipts.count
        return receipts
    }

    package mutating func takeAll() -> [(partition: Partition, receipts: [Receipt])] {
        defer { (self.byPartition, self.count) = ([:], 0) }
        return self.byPartition.map { ($0.key, $0.value) }
    }
}
