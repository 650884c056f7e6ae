import Bus
import Contract
import Logging
import Store
import Synchronization
import Telemetry

/// Takes mail's wake Jobs from the bus and drives `WakeCoalescer`. A Job is acknowledged when the push that answers it
/// has been tried and what came of it stands in the database: from there on it is the database that remembers.
package final class PushService: Sendable {
    private static let stream = Keyspace.wakes.name
    private static let group = "push"

    private let consumer: String
    private let bus: any JobBus
    private let round: PushRound
    private let logger: Logger
    private let claimIdle: Duration
    private let isDraining = Atomic<Bool>(false)
    private let ended: AsyncStream<Never>
    private let end: AsyncStream<Never>.Continuation

    init(consumer: String, bus: any JobBus, round: PushRound, logger: Logger, claimIdle: Duration) {
        self.consumer = consumer
        self.bus = bus
        self.round = round
        self.logger = logger
        self.claimIdle = claimIdle
        (self.ended, self.end) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// Works until cancelled or drained.
    package func run() async {
        defer { self.end.finish() }
        var coalescer = WakeCoalescer()
        var nextClaim = ContinuousClock.now
        while !Task.isCancelled, !self.isDraining.load(ordering: .relaxed) {
            do throws(BusError) {
                if .now >= nextClaim {
                    nextClaim = .now + PushLimits.claimEvery
                    await self.handle(try await self.abandoned(coalescer.room), with: &coalescer)
                    self.round.desk.metrics.wakesWaiting.set(try await self.bus.depth(of: [Self.stream])[0])
                }
                await self.handle(try await self.next(coalescer), with: &coalescer)
            } catch {
                // What was gathered still goes out on time below; the connection comes back by itself.
                self.logger.debug("wakes cannot be read", [.error: "\(error)"])
                try? await Task.sleep(for: PushLimits.retryDelay)
            }
            await self.send(coalescer.due(at: .now))
            self.round.desk.metrics.jobsInFlight.set(coalescer.jobsHeld)
        }
        await self.send(coalescer.flush())
    }

    /// Takes no more Jobs and answers those taken.
    package func drain() async {
        self.isDraining.store(true, ordering: .relaxed)
        for await _ in self.ended {}
    }

    /// Jobs for this consumer: waits until one comes, or a window ends.
    private func next(_ coalescer: WakeCoalescer) async throws(BusError) -> [StreamEntry] {
        let untilEnd = coalescer.nextEnd.map { $0 - .now } ?? PushLimits.patience
        let patience = max(.milliseconds(1), min(untilEnd, PushLimits.patience))
        guard coalescer.room > 0 else {
            try? await Task.sleep(for: patience)
            return []
        }
        return try await self.bus.take(
            from: Self.stream, group: Self.group, consumer: self.consumer,
            limit: min(coalescer.room, PushLimits.takeMax), patience: patience)
    }

    /// Jobs that a consumer took and did not acknowledge: it died, or could not remember what it did.
    private func abandoned(_ room: Int) async throws(BusError) -> [StreamEntry] {
        guard room > 0 else { return [] }
        return try await self.bus.claim(
            from: Self.stream, group: Self.group, consumer: self.consumer, idle: self.claimIdle,
            limit: min(room, PushLimits.takeMax))
    }

    private func handle(_ entries: [StreamEntry], with coalescer: inout WakeCoalescer) async {
        var wakeups: [Wakeup] = []
        var unreadable: [EntryID] = []
        for entry in entries {
            do throws(WireError) {
                let wake = try Wake(decoding: entry.bytes)
                self.logger.debug("wake taken", [.wakeId: "\(wake.wakeID)"])
                if let wakeup = coalescer.received(wake, entry.id, at: .now) { wakeups.append(wakeup) }
            } catch {
                // It would come again forever. Losing it costs a wake-up, never a message.
                self.logger.error("wake cannot be read", [.error: "\(error)"])
                unreadable.append(entry.id)
            }
        }
        self.acknowledge(unreadable)
        await self.send(wakeups)
    }

    /// Pushes and ends the Jobs of those that are remembered.
    private func send(_ wakeups: [Wakeup]) async {
        for start in stride(from: 0, to: wakeups.count, by: PushLimits.takeMax) {
            let part = wakeups[start..<min(start + PushLimits.takeMax, wakeups.count)]
            let items = part.map { PushRound.Item(recipient: $0.recipient, wakeID: $0.wakeID, queuedAt: $0.queuedAt) }
            do throws(StoreError) {
                try await self.round.push(items)
                self.round.desk.metrics.coalesced.increment(by: part.reduce(0) { $0 + $1.jobs.count - 1 })
                self.acknowledge(part.flatMap(\.jobs))
            } catch {
                // The Jobs stay taken, and come again after `claimIdle`.
                self.logger.warning("wakes not remembered", [.error: "\(error)", .count: .number(part.count)])
            }
        }
    }

    private func acknowledge(_ jobs: [EntryID]) {
        guard !jobs.isEmpty else { return }
        self.bus.acknowledge(jobs, in: Self.stream, group: Self.group)
    }
}
