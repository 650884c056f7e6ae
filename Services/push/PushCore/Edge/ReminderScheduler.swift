import Bus
import ClusterContract
import Contract
import Logging
import Store
import Telemetry

/// Retries failed pushes, reminds recipients whose mail still waits, and records who has come back.
///
/// The times are in the database, so other processes take over from one that died. Several processes may run side by
/// side.
package struct ReminderScheduler: Sendable {
    let bus: any KeyBus
    let table: RecipientTable
    let round: PushRound
    let watcher: Watcher
    let schedule: PushSchedule
    let logger: Logger

    /// Runs until its task is cancelled.
    package func run() async {
        await withDiscardingTaskGroup { group in
            var nextSweep = ContinuousClock.now
            while !Task.isCancelled {
                var pause = PushLimits.lookEvery
                do throws(StoreError) {
                    let isWatching = try await self.recordReturnedDevices()
                    var (taken, all) = (0, 0)
                    repeat {
                        taken = try await self.lookAtDue(in: &group)
                        all += taken
                    } while taken == PushLimits.takeMax && !Task.isCancelled
                    if !isWatching, all == 0 { pause = PushLimits.quietLookEvery }
                    if .now >= nextSweep {
                        nextSweep = .now + PushLimits.sweepEvery
                        try await self.table.sweep(
                            deadLetterLife: self.schedule.deadLetterLife, limit: PushLimits.sweepRowsMax)
                    }
                } catch {
                    self.logger.warning("recipients not looked after", [.error: "\(error)"])
                }
                try? await Task.sleep(for: pause)
            }
        }
    }

    /// Records which recently pushed recipients have a connection now, and how soon they came.
    /// - Returns: whether there are any that were pushed.
    private func recordReturnedDevices() async throws(StoreError) -> Bool {
        let watched = self.watcher.watch.withLock { $0.watched(at: .now) }
        guard !watched.isEmpty else { return false }
        guard let present = await self.present(watched), !present.isEmpty else { return true }
        let now = ContinuousClock.now
        let metrics = self.round.sender.metrics
        for recipient in try await self.table.woke(Array(present)) {
            metrics.woke.increment()
            self.logger.debug("pushed recipient is back", [.whisperId: "\(recipient)"])
            if let after = self.watcher.watch.withLock({ $0.came(recipient, at: now) }) {
                metrics.wokeSeconds.record(duration: after)
            }
        }
        // Recipients that another process has recorded are not watched any longer either.
        self.watcher.watch.withLock { watch in for recipient in present { _ = watch.came(recipient, at: now) } }
        return true
    }

    /// - Returns: how many there were.
    private func lookAtDue(in group: inout DiscardingTaskGroup) async throws(StoreError) -> Int {
        let room = min(self.round.underWay.room, PushLimits.takeMax)
        guard room > 0 else { return 0 }
        let due = try await self.table.takeDue(lease: PushLimits.lookLease, limit: room)
        guard !due.isEmpty else { return 0 }
        // Without the bus nobody can tell who is there: they come again when their lease ends.
        guard let present = await self.present(due.filter(\.hasMail).map(\.id)) else { return 0 }
        let back = due.filter { !$0.hasMail }.map(\.id)
        if !back.isEmpty { self.round.sender.metrics.woke.increment(by: try await self.table.woke(back).count) }
        // A present recipient with mail is not forgotten: the router may know that it has gone since.
        let reading = due.filter { $0.hasMail && present.contains($0.id) }
        if !reading.isEmpty {
            try await self.table.hold(reading.map { (id: $0.id, until: $0.takenAt + PushLimits.lookAgain) })
        }
        let items = due.filter { $0.hasMail && !present.contains($0.id) }.map { recipient in
            PushRound.Item(
                recipient: recipient.id, wakeID: .random(), isReminder: recipient.history.unanswered > 0, isDue: true)
        }
        // Recipients whose mail is being pushed just now are left out: the result of that push replaces the lease.
        try await self.round.push(items, in: &group)
        return due.count
    }

    /// The identities that have a connection at a live gateway. Presence left by a dead gateway does not count. Nil:
    /// the bus gave no answer.
    private func present(_ identities: [WhisperID]) async -> Set<WhisperID>? {
        var present: Set<WhisperID> = []
        for start in stride(from: 0, to: identities.count, by: ClusterLimits.presencesPerReadMax) {
            let part = identities[start..<min(start + ClusterLimits.presencesPerReadMax, identities.count)]
            do throws(BusError) {
                let keys = try await self.bus.get(part.map { Keyspace.presence($0) })
                let nodes = keys.map { $0.flatMap { try? Presence(decoding: $0) }?.node }
                let living = try await self.living(nodes)
                for (identity, node) in zip(part, nodes) {
                    if let node, living.contains(node) { present.insert(identity) }
                }
            } catch {
                return nil
            }
        }
        return present
    }

    /// Which of these gateways live.
    private func living(_ nodes: [NodeID?]) async throws(BusError) -> Set<NodeID> {
        let nodes = Array(Set(nodes.compactMap { $0 }))
        guard !nodes.isEmpty else { return [] }
        let words = try await self.bus.get(nodes.map { Keyspace.alive($0) })
        return Set(zip(nodes, words).filter { $0.1 != nil }.map(\.0))
    }
}
