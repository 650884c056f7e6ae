import Bus
import ClusterContract
import Contract
import Jobs
import Logging
import Store
import Telemetry

/// Takes the wake-ups of calls and of knocks from their own stream and pushes each at once. It never gathers them, never
/// puts them behind mail, and pushes no ring that has ended. A ring's end is pushed, too, but only to recipients that may
/// have received the ring.
package struct CallPusher: Sendable {
    private let bus: any JobBus & KeyBus
    private let sender: PushSender
    private let table: RecipientTable
    private let worker: StreamWorker
    private let logger: Logger

    init(consumer: String, bus: any JobBus & KeyBus, sender: PushSender, table: RecipientTable, logger: Logger) {
        self.bus = bus
        self.sender = sender
        self.table = table
        self.worker = StreamWorker(
            StreamConsumer(
                bus: bus, stream: Keyspace.callWakes.name, group: "push", name: consumer,
                bounds: .init(
                    claimIdle: PushLimits.callClaimIdle, claimEvery: PushLimits.claimEvery,
                    takeMax: PushLimits.takeMax, takeBlockMax: PushLimits.takeBlockMax,
                    retryPause: PushLimits.retryDelay),
                depth: { sender.metrics.callWakesWaiting.set($0) }),
            slots: PushLimits.callsInFlightMax, logger: logger)
        self.logger = logger
    }

    /// Works until cancelled or drained.
    package func run() async {
        // A call and its end stay in order; different calls do not wait for each other.
        await self.worker.run { entries, _ in
            self.read(entries)
        } work: { wakes in
            for (entry, wake) in wakes { await self.serve(wake, entry) }
        }
    }

    /// Takes no more Jobs and answers those taken.
    package func drain() async { await self.worker.drain() }

    private func read(_ entries: [StreamEntry]) -> [[(EntryID, Wake)]] {
        var byCall: [UUIDText: [(EntryID, Wake)]] = [:]
        for entry in entries {
            do throws(WireError) {
                let wake = try Wake(decoding: entry.bytes)
                self.logger.debug("wake taken", [.wakeId: "\(wake.wakeID)"])
                byCall[wake.wakeID, default: []].append((entry.id, wake))
            } catch {
                self.logger.error("wake cannot be read", [.error: "\(error)"])
                self.acknowledge(entry.id)
            }
        }
        return Array(byCall.values)
    }

    private func serve(_ wake: Wake, _ entry: EntryID) async {
        do throws(BusError) {
            switch wake.reason {
            case .message:
                // A bug of whoever put it here. It is mail: it goes where mail goes.
                try await self.bus.append(wake, to: Keyspace.wakes)
                self.acknowledge(entry)
            case .call(let isVideo, let until):
                let push = Push(kind: .call(isVideo: isVideo), wakeID: wake.wakeID, expires: await self.own(until))
                try await self.ring(push, until, wake, entry)
            case .callOver: try await self.over(wake, entry)
            case .knock(let until): try await self.wake(.knock, until, wake, entry)
            case .room(let until): try await self.wake(.room, until, wake, entry)
            }
        } catch {
            // It comes again after `callClaimIdle`, if it still rings.
            self.logger.warning("call not pushed", [.wakeId: "\(wake.wakeID)", .error: "\(error)"])
        }
    }

    /// Quietly: nothing rings.
    private func wake(_ kind: Push.Kind, _ until: Timestamp, _ wake: Wake, _ entry: EntryID) async throws(BusError) {
        let push = Push(kind: kind, wakeID: wake.wakeID, expires: await self.own(until))
        guard push.expires > .now else { return self.drop(wake, entry) }
        try await self.tryFor(push, wake, entry, while: push.expires)
    }

    /// The calls service counts by the database's clock. The same time by this process's own, which may be another.
    private func own(_ time: Timestamp) async -> Timestamp {
        // Without the database: the clocks may well agree.
        guard let now = try? await self.table.time() else { return time }
        let ahead = Timestamp.now.milliseconds - now.milliseconds
        // Clocks that agree, and a question that took its time.
        guard abs(ahead) > PushLimits.clockOffMin.milliseconds else { return time }
        return time + .milliseconds(ahead)
    }

    /// - Parameter until: when the ring ends, by the database's clock.
    private func ring(_ push: Push, _ until: Timestamp, _ wake: Wake, _ entry: EntryID) async throws(BusError) {
        guard push.expires > .now else { return self.drop(wake, entry) }
        if try await self.mark(of: wake) == .over { return self.acknowledge(entry) }
        // Before the push: a crash in between leaves a ring that perhaps was heard.
        try await self.bus.set(
            Keyspace.callWake(wake.wakeID), to: CallMark.sent(until: until).bytes,
            for: .milliseconds(push.expires.milliseconds - Timestamp.now.milliseconds) + PushLimits.callMarkSpare)
        try await self.tryFor(push, wake, entry, while: push.expires)
    }

    private func over(_ wake: Wake, _ entry: EntryID) async throws(BusError) {
        let mark = try await self.mark(of: wake)
        // First of all: a ring that is still being tried stops, one that comes later is not begun.
        try await self.bus.set(
            Keyspace.callWake(wake.wakeID), to: CallMark.over.bytes, for: PushLimits.callMarkSpare)
        guard case .sent(let until) = mark else { return self.acknowledge(entry) }
        let push = Push(kind: .callOver, wakeID: wake.wakeID, expires: await self.own(until))
        // A ring that is past may still be shown; for that one more try is worth it.
        try await self.tryFor(push, wake, entry, while: push.expires)
    }

    /// Tries until a provider takes it, its time is over, or the Job has been held too long: then it goes round once more.
    private func tryFor(_ push: Push, _ wake: Wake, _ entry: EntryID, while end: Timestamp) async throws(BusError) {
        let held = ContinuousClock.now + PushLimits.callHeldMax
        var failures = 0
        while true {
            let attempt: PushSender.Attempt
            do throws(StoreError) {
                let device = try await self.table.devices(of: [wake.recipient])[wake.recipient]
                attempt = await self.sender.attempt(push, for: wake.recipient, on: device, queuedAt: wake.queuedAt)
            } catch {
                self.logger.warning("device not found", [.wakeId: "\(wake.wakeID)", .error: "\(error)"])
                attempt = PushSender.Attempt(provider: .log, answer: .later(.unavailable, after: nil))
            }
            let after: Duration?
            switch attempt.answer {
            case .later(_, let asked): after = asked
            case .busy: after = nil
            case nil, .sent, .tokenGone, .refused, .staleCredentials:
                if attempt.answer == .refused { await self.giveUp(push, wake, attempt, tries: failures + 1) }
                if attempt.answer == .sent, push.kind != .callOver, try await self.mark(of: wake) == .over {
                    // The end was pushed while this was under way, and may have come first.
                    let over = Push(kind: .callOver, wakeID: wake.wakeID, expires: end)
                    return try await self.tryFor(over, wake, entry, while: end)
                }
                return self.acknowledge(entry)
            }
            failures += 1
            let pause = max(
                PushLimits.callRetry.pause(after: failures) * Double.random(in: 0.5..<1), after ?? .zero)
            guard .now + pause < end else {
                await self.giveUp(push, wake, attempt, tries: failures)
                return self.acknowledge(entry)
            }
            guard .now + pause < held else {
                try await self.bus.append(wake, to: Keyspace.callWakes)
                return self.acknowledge(entry)
            }
            try? await Task.sleep(for: pause)
            self.sender.metrics.retries.increment()
            if push.kind != .callOver, try await self.mark(of: wake) == .over { return self.acknowledge(entry) }
        }
    }

    private func mark(of wake: Wake) async throws(BusError) -> CallMark? {
        try await self.bus.get(Keyspace.callWake(wake.wakeID)).flatMap { CallMark($0) }
    }

    /// Nobody rings any more.
    private func drop(_ wake: Wake, _ entry: EntryID) {
        self.sender.metrics.tried(.log, .late)
        self.logger.debug("call rings no longer", [.wakeId: "\(wake.wakeID)"])
        self.acknowledge(entry)
    }

    private func giveUp(_ push: Push, _ wake: Wake, _ attempt: PushSender.Attempt, tries: Int) async {
        self.logger.warning("wake given up", [.wakeId: "\(wake.wakeID)", .reason: "\(attempt.result.rawValue)"])
        self.sender.metrics.deadLetters.increment()
        let letter = RecipientTable.DeadLetter(
            recipient: wake.recipient, wakeID: wake.wakeID, kind: push.kind.name, provider: attempt.provider,
            reason: attempt.result, tries: tries)
        do throws(StoreError) {
            try await self.table.write([], [letter])
        } catch {
            self.logger.warning("dead letter not written", [.wakeId: "\(wake.wakeID)", .error: "\(error)"])
        }
    }

    private func acknowledge(_ entry: EntryID) { self.worker.consumer.acknowledge([entry]) }
}
