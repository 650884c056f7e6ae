import Contract
import Store
import Telemetry

/// What mailboxes still take (contract §13a).
extension Router {
    /// For each envelope what its recipient's mailbox takes; empty if all of them surely fit, as nearly always. Only then is nothing
    /// asked of the database. To be called when the batch before is stored and noted, and by no other than the connection that stores:
    /// while its session owns the partition, nobody else adds to what was counted.
    func rooms(for envelopes: [AcceptEnvelope]) async throws(StoreError) -> [MailRoom?] {
        var incoming: [WhisperID: MailTally] = [:]
        incoming.reserveCapacity(envelopes.count)
        for envelope in envelopes { incoming[envelope.to, default: .zero] += envelope.tally }
        let unsure = self.loads.unsure(incoming, mayHold: self.mailboxes.mayHold)
        guard !unsure.isEmpty else { return [] }
        var senders: [WhisperID: [WhisperID: MailTally]] = [:]
        for envelope in envelopes where unsure.contains(envelope.to) {
            senders[envelope.to, default: [:]][envelope.sender.identity, default: .zero] += envelope.tally
        }
        var rooms: [WhisperID: [WhisperID: MailRoom]] = [:]
        var toCount: [WhisperID] = []
        for (recipient, senders) in senders {
            if self.loads.mustCount(recipient, senders, at: self.now) {
                toCount.append(recipient)
            } else {
                rooms[recipient] = self.loads.room(of: recipient, senders)
            }
        }
        if !toCount.isEmpty {
            let asked = Set(toCount.flatMap { senders[$0]!.keys })
            let counted = try MailboxTable.counted(
                try await self.store.query(MailboxTable.count(toCount, asked: Array(asked), self.configuration.bounds)))
            for (recipient, mail) in zip(toCount, counted) {
                self.loads.counted(recipient, mail, senders[recipient]!, at: self.now)
                rooms[recipient] = self.loads.room(of: recipient, senders[recipient]!)
            }
        }
        guard !rooms.isEmpty else { return [] }
        return envelopes.map { rooms[$0.to]?[$0.sender.identity] }
    }

    /// What the console shows of the fullest mailboxes.
    func noteFullMailboxes(_ pool: PostgresPool) async throws(StoreError) {
        let full = self.loads.fullest(
            RouterLimits.fullMailboxesNotedMax, least: RouterLimits.fullMailboxLeast, mayHold: self.mailboxes.mayHold)
        guard !full.isEmpty else { return }
        try await pool.execute(FullMailboxesTable.note(full))
    }

    /// What operators see of the fullest mailbox.
    func measureLoads() {
        let largest = self.loads.largest(mayHold: self.mailboxes.mayHold)
        self.metrics.mailboxLargestMessages.set(largest.messages)
        self.metrics.mailboxLargestBytes.set(largest.bytes)
    }
}

extension AcceptEnvelope {
    /// What it adds to a mailbox.
    fileprivate var tally: MailTally { MailTally(messages: 1, bytes: self.payload.count) }
}
