import Bus
import ClusterContract
import Contract

/// Jobs of one gateway for routers: they stand in the streams of mailbox partitions.
final class MailboxJobs {
    private let bus: any Bus
    private var depths = PartitionDepths()
    private var held = HeldReceipts()
    private var isTimerSet = false
    /// How many receipts come.
    private var pacing = ArrivalPacing(
        interval: GatewayLimits.receiptsHeldFor, worthWaiting: GatewayLimits.receiptsWorthHolding,
        window: GatewayLimits.receiptRateWindow)

    init(bus: any Bus) { self.bus = bus }

    /// Whether so much waits in the partition's stream that nothing more is asked of it.
    func isFull(_ partition: Partition) -> Bool { self.depths.isFull(partition) }

    /// Appends a Job behind all receipts that are held for the same partition.
    /// - Parameter failed: called on the gateway's loop.
    func append(
        _ job: MailboxJob, to partition: Partition, _ host: isolated some EdgeHost,
        failed: @escaping @Sendable (BusError) -> Void = { _ in }
    ) {
        self.append(self.held.take(of: partition), to: partition, host)
        self.send(job, to: partition, failed: failed)
    }

    /// Appends a receipt: at once, or together with others while several come anyway.
    func hold(_ receipt: HeldReceipts.Receipt, for partition: Partition, _ host: isolated some EdgeHost) {
        self.held.add(receipt, to: partition)
        self.pacing.looked(1, at: .now)
        if self.held.isFull || !self.pacing.isWorthWaiting { return self.appendHeld(host) }
        guard !self.isTimerSet else { return }
        self.isTimerSet = true
        // Bare: it lasts for this pause alone.
        Task {
            try? await self.bus.pause(for: GatewayLimits.receiptsHeldFor)
            self.isTimerSet = false
            self.appendHeld(host)
        }
    }

    func appendHeld(_ host: isolated some EdgeHost) {
        for (partition, receipts) in self.held.takeAll() { self.append(receipts, to: partition, host) }
    }

    private func append(
        _ receipts: [HeldReceipts.Receipt], to partition: Partition, _ host: isolated some EdgeHost
    ) {
        for receipt in receipts {
            let id = receipt.connection
            self.send(.receipt(receipt.report), to: partition) { _ in
                host.assumeIsolated { $0.connection(id)?.deliveryCursor.mayHaveMissed() }
            }
        }
    }

    private func send(
        _ job: MailboxJob, to partition: Partition, failed: @escaping @Sendable (BusError) -> Void
    ) {
        self.depths.appended(to: partition)
        self.bus.append(job, to: Keyspace.mailbox(partition), failed: failed)
    }

    /// Asks the bus how much waits in the streams that were written to.
    func checkDepths(_ host: isolated some EdgeHost) async {
        let partitions = self.depths.takeUnsettled()
        guard !partitions.isEmpty else { return }
        if let depths = try? await self.bus.depth(of: partitions.map { Keyspace.mailbox($0).name }) {
            self.depths.saw(depths, of: partitions)
        } else {
            self.depths.sawNothing(of: partitions)
        }
    }
}
