import ClusterContract
import Contract
import Store
import Telemetry

/// Free space in mailboxes (contract §13a).
extension Router {
    /// For each envelope what its recipient's mailbox takes; empty if all of them surely fit, as nearly always. Only then is nothing
    /// asked of the database. To be called when the batch before is stored and noted, and by no other than the connection that stores:
    /// while its session owns the partition, nobody else adds to what was counted.
    func freeSpace(for envelopes: [AcceptEnvelope]) async throws(StoreError) -> [MailboxSpace?] {
        var spaces = MailboxSpaces(for: envelopes, in: &self.memory, at: self.now)
        if !spaces.toCount.isEmpty {
            let counted = try await self.store.query(
                MailboxTable.count(spaces.toCount, asked: Array(spaces.asked), self.configuration.bounds))
            spaces.counted(counted, in: &self.memory.loads, at: self.now)
        }
        return spaces.ofEnvelopes
    }

    /// Stores the fullest mailboxes; the console shows them.
    func noteFullMailboxes(_ pool: PostgresPool) async throws(StoreError) {
        let full = self.memory.loads.fullest(
            RouterLimits.fullMailboxesNotedMax, least: RouterLimits.fullMailboxLeast,
            mayHold: self.memory.mailboxes.mayHold)
        guard !full.isEmpty else { return }
        try await pool.execute(FullMailboxesTable.note(full))
    }

    /// Sets the metrics of the fullest mailbox.
    func measureLoads() {
        let largest = self.memory.loads.largest(mayHold: self.memory.mailboxes.mayHold)
        self.metrics.mailboxLargestMessages.set(largest.messages)
        self.metrics.mailboxLargestBytes.set(largest.bytes)
    }
}
