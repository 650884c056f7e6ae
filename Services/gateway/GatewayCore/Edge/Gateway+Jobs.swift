import Bus
import Contract

/// What goes to the routers: Jobs in the streams of their partitions.
extension Gateway {
    /// Behind all receipts that are held for the same partition.
    func append(
        _ job: MailboxJob, to partition: Partition, failed: @escaping @Sendable (isolated Gateway) -> Void = { _ in }
    ) {
        self.append(self.heldReceipts.take(of: partition), to: partition)
        self.send(job, to: partition, failed: failed)
    }

    /// Appends a receipt: at once, or together with others while several come anyway.
    func hold(_ receipt: HeldReceipts.Receipt, for partition: Partition) {
        self.heldReceipts.add(receipt, to: partition)
        self.receipts.looked(1, at: .now)
        if self.heldReceipts.isFull || !self.receipts.isWorthWaiting { return self.appendHeldReceipts() }
        guard !self.isReceiptTimerSet else { return }
        self.isReceiptTimerSet = true
        // Bare: it lasts for this pause alone.
        Task {
            try? await self.bus.pause(for: GatewayLimits.receiptsHeldFor)
            self.isReceiptTimerSet = false
            self.appendHeldReceipts()
        }
    }

    func appendHeldReceipts() {
        for (partition, receipts) in self.heldReceipts.takeAll() { self.append(receipts, to: partition) }
    }

    private func append(_ receipts: [HeldReceipts.Receipt], to partition: Partition) {
        for receipt in receipts {
            let id = receipt.connection
            self.send(.receipt(receipt.report), to: partition) { $0.connections[id]?.deliveryCursor.mayHaveMissed() }
        }
    }

    private func send(
        _ job: MailboxJob, to partition: Partition, failed: @escaping @Sendable (isolated Gateway) -> Void
    ) {
        self.partitionDepths.appended(to: partition)
        // The bus calls back on the loop.
        self.bus.append(job, to: Keyspace.mailbox(partition)) { _ in self.assumeIsolated { failed($0) } }
    }
}
