import Bus
import ClusterContract
import Contract
import Jobs
import Logging
import Store
import Telemetry

/// Takes the wake Jobs of mail from the bus and drives `WakeCoalescer`.
///
/// A Job is acknowledged once its push was tried and the result is in the database, which remembers it from then on.
/// Slow pushes delay their own Jobs only.
package final class MailPushWorker: Sendable {
    private let round: PushRound
    /// Acknowledges Jobs. `run` takes them with a copy of it.
    private let consumer: StreamConsumer
    private let logger: Logger
    private let latch = DrainLatch()

    init(consumer: String, bus: any JobBus, round: PushRound, logger: Logger, claimIdle: Duration) {
        self.round = round
        self.consumer = StreamConsumer(
            bus: bus, stream: Keyspace.wakes.name, group: "push", name: consumer,
            bounds: .init(
                claimIdle: claimIdle, claimEvery: PushLimits.claimEvery, takeMax: PushLimits.takeMax,
                takeBlockMax: PushLimits.takeBlockMax, retryPause: PushLimits.retryDelay),
            depth: { round.sender.metrics.wakesWaiting.set($0) })
        self.logger = logger
    }

    /// Works until cancelled or drained.
    package func run() async {
        await withDiscardingTaskGroup { group in
            let underWay = self.round.underWay
            var consumer = self.consumer
            var coalescer = WakeCoalescer()
            while !Task.isCancelled, !self.latch.isDraining {
                do throws(BusError) {
                    // Until a Job comes, or a window ends.
                    let untilEnd = coalescer.nextEnd.map { $0 - .now } ?? PushLimits.takeBlockMax
                    let entries = try await consumer.next(
                        coalescer.room, blockFor: max(.milliseconds(1), min(untilEnd, PushLimits.takeBlockMax)))
                    await self.handle(entries, with: &coalescer, in: &group)
                } catch {
                    // Gathered wake-ups still go out on time below; the connection comes back by itself.
                    self.logger.debug("wakes cannot be read", [.error: "\(error)"])
                    try? await Task.sleep(for: consumer.bounds.retryPause)
                }
                let due = coalescer.due(at: .now) { underWay.contains($0) }
                await self.send(due, in: &group)
                self.round.sender.metrics.jobsInFlight.set(coalescer.jobsHeld)
            }
            // Recipients whose last push is slow are left to the next process: their Jobs come again after `claimIdle`.
            let last = coalescer.flush().filter { !underWay.contains($0.recipient) }
            await self.send(last, in: &group)
        }
        // The group has waited for every push.
        self.latch.end()
    }

    /// Takes no more Jobs and answers those taken.
    package func drain() async { await self.latch.drain() }

    private func handle(
        _ entries: [StreamEntry], with coalescer: inout WakeCoalescer, in group: inout DiscardingTaskGroup
    ) async {
        var wakeups: [Wakeup] = []
        var unreadable: [EntryID] = []
        for entry in entries {
            do throws(WireError) {
                let wake = try Wake(decoding: entry.bytes)
                self.logger.debug("wake taken", [.wakeId: "\(wake.wakeID)"])
                let isUnderWay = self.round.underWay.contains(wake.recipient)
                if let wakeup = coalescer.received(wake, entry.id, at: .now, isUnderWay: isUnderWay) {
                    wakeups.append(wakeup)
                }
            } catch {
                // It would come again forever. Losing it costs a wake-up, never a message.
                self.logger.error("wake cannot be read", [.error: "\(error)"])
                unreadable.append(entry.id)
            }
        }
        self.consumer.acknowledge(unreadable)
        await self.send(wakeups, in: &group)
    }

    /// Pushes, round after round, and ends the Jobs of those that are remembered. Returns when all but slow pushes have ended.
    private func send(_ wakeups: [Wakeup], in group: inout DiscardingTaskGroup) async {
        var rest = wakeups[...]
        while !rest.isEmpty {
            let room = self.round.underWay.room
            guard room > 0 else {
                // Cancelled: the Jobs stay taken, and come again after `claimIdle`.
                if Task.isCancelled { return }
                try? await Task.sleep(for: PushLimits.roomPause)
                continue
            }
            let part = rest.prefix(min(room, PushLimits.takeMax))
            rest = rest.dropFirst(part.count)
            let items = part.map { PushRound.Item(recipient: $0.recipient, wakeID: $0.wakeID, queuedAt: $0.queuedAt) }
            // One push answers all that a recipient has in this round.
            let jobs = Dictionary(part.map { ($0.recipient, $0.jobs) }, uniquingKeysWith: { $0 + $1 })
            do throws(StoreError) {
                try await self.round.push(items, in: &group) { remembered in
                    let ended = remembered.compactMap { jobs[$0.recipient] }
                    self.round.sender.metrics.coalesced.increment(by: ended.reduce(0) { $0 + $1.count - 1 })
                    self.consumer.acknowledge(ended.flatMap { $0 })
                }
            } catch {
                // The Jobs stay taken, and come again after `claimIdle`.
                self.logger.warning("wakes not remembered", [.error: "\(error)", .count: .number(part.count)])
            }
        }
    }
}
