import Bus
import NIOCore

/// Reads of many streams of a cluster. A command may name streams of one slot only, so each slot has a read of its own that
/// waits at its master, and goes on waiting from one call of `read` to the next. Lives on its event loop.
final class ClusterReads {
    /// One call of `read`.
    final class Wait {
        fileprivate let slots: Set<Int>
        fileprivate var timer: Scheduled<Void>?
        fileprivate var done: ((Result<[StreamBatch], BusError>) -> Void)?

        fileprivate init(_ slots: Set<Int>, done: @escaping (Result<[StreamBatch], BusError>) -> Void) {
            self.slots = slots
            self.done = done
        }
    }

    private enum State {
        case waiting(BlockingCall)
        case ready([StreamBatch], since: NIODeadline)
        /// It could not be read. `Scheduled` is the next attempt.
        case failed(Scheduled<Void>)
    }

    private struct Reading {
        let positions: [String: EntryID]
        let limit: Int
        let bytesMax: Int
        var state: State
    }

    private unowned let cluster: RedisCluster
    private let eventLoop: any EventLoop
    /// By slot.
    private var readings: [Int: Reading] = [:]
    private var waits: [ObjectIdentifier: Wait] = [:]
    private var deliveryIsDue = false

    init(cluster: RedisCluster, eventLoop: any EventLoop) {
        self.cluster = cluster
        self.eventLoop = eventLoop
    }

    /// Together the slots bring `BusLimits.readBytesMax` at most, or one of the longest entries each.
    /// - Parameter done: called once; with nothing when the time is up. Fails if no stream can be read.
    /// - Returns: what to call off; nil if `done` was called already.
    func read(
        _ positions: [(stream: String, after: EntryID)], limit: Int, blockFor: Duration,
        done: @escaping (Result<[StreamBatch], BusError>) -> Void
    ) -> Wait? {
        self.dropUnasked()
        var bySlot: [Int: [String: EntryID]] = [:]
        for (stream, after) in positions { bySlot[HashSlot.of(stream), default: [:]][stream] = after }
        let bytesMax = max(BusLimits.entryBytesMax, BusLimits.readBytesMax / max(1, bySlot.count))
        for (slot, positions) in bySlot {
            if let reading = self.readings[slot] {
                if reading.positions == positions, reading.limit == limit { continue }
                // Forgotten first: what its end brings is of no use to the next read of these streams.
                self.readings[slot] = nil
                self.end(reading)
            }
            self.begin(slot, positions, limit: limit, bytesMax: bytesMax)
        }
        let wait = Wait(Set(bySlot.keys), done: done)
        self.deliver(to: wait)
        guard wait.done != nil else { return nil }
        self.waits[ObjectIdentifier(wait)] = wait
        wait.timer = self.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(blockFor)) { self.callOff(wait) }
        return wait
    }

    /// Ends the call with nothing. Its slots go on being read for the next one.
    func callOff(_ wait: Wait) { self.finish(wait, .success([])) }

    func close() {
        let (readings, waits) = (self.readings, self.waits)
        self.readings = [:]
        for reading in readings.values { self.end(reading) }
        for wait in waits.values { self.finish(wait, .failure(.unavailable)) }
    }

    private func finish(_ wait: Wait, _ result: Result<[StreamBatch], BusError>) {
        guard let done = wait.done else { return }
        wait.done = nil
        wait.timer?.cancel()
        self.waits[ObjectIdentifier(wait)] = nil
        done(result)
    }

    // MARK: One slot

    /// It waits for longer than who asks may: the next call of `read` finds it waiting.
    private func begin(_ slot: Int, _ positions: [String: EntryID], limit: Int, bytesMax: Int) {
        let blockFor = RedisLimits.standingReadBlock
        let command = RedisCommand.read(
            positions.map { (stream: $0.key, after: $0.value) }, limit: limit, blockFor: blockFor, bytesMax: bytesMax)
        let call = BlockingCall()
        self.readings[slot] = Reading(
            positions: positions, limit: limit, bytesMax: bytesMax, state: .waiting(call))
        guard let readers = self.cluster.readers(for: command) else { return self.failed(slot, .unavailable) }
        call.start(command, blockFor: blockFor, on: readers, eventLoop: self.eventLoop) { outcome in
            guard case .waiting(let current)? = self.readings[slot]?.state, current === call else { return }
            switch outcome.flatMap({ $0.map { Result.success($0) } ?? .failure(.unavailable) }).decoded({
                cursor throws(BusError) in try cursor.batches()
            }) {
            case .success(let batches):
                guard !batches.isEmpty else { return self.again(slot) }
                self.readings[slot]?.state = .ready(batches, since: .now())
                self.deliverSoon()
            case .failure(let error): self.failed(slot, error)
            }
        }
    }

    /// The server has waited as long as it may.
    private func again(_ slot: Int) {
        guard let reading = self.readings.removeValue(forKey: slot), self.isAsked(slot) else { return }
        self.begin(slot, reading.positions, limit: reading.limit, bytesMax: reading.bytesMax)
    }

    private func failed(_ slot: Int, _ error: BusError) {
        // The server says so of a read that waits at a master which has become a replica.
        let isOver = if case .refused(let reason) = error { !reason.hasPrefix("UNBLOCKED") } else { false }
        if isOver {
            self.readings[slot] = nil
            for wait in self.waits.values where wait.slots.contains(slot) { self.finish(wait, .failure(error)) }
            return
        }
        self.readings[slot]?.state = .failed(
            self.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(RedisLimits.readRetry)) { self.again(slot) })
        self.deliverSoon()
    }

    private func end(_ reading: Reading) {
        switch reading.state {
        case .waiting(let call): call.callOff()
        case .ready: break
        case .failed(let next): next.cancel()
        }
    }

    private func isAsked(_ slot: Int) -> Bool { self.waits.values.contains { $0.slots.contains(slot) } }

    // MARK: Delivery

    /// At the end of this turn: what other slots had comes along.
    private func deliverSoon() {
        guard !self.deliveryIsDue else { return }
        self.deliveryIsDue = true
        self.eventLoop.assumeIsolated().execute {
            self.deliveryIsDue = false
            for wait in Array(self.waits.values) { self.deliver(to: wait) }
        }
    }

    private func deliver(to wait: Wait) {
        var batches: [StreamBatch] = []
        var failures = 0
        for slot in wait.slots {
            switch self.readings[slot]?.state {
            case .ready(let read, _):
                batches += read
                self.readings[slot] = nil
            case .failed: failures += 1
            case .waiting, nil: break
            }
        }
        if !batches.isEmpty { return self.finish(wait, .success(batches)) }
        // One master's loss is not the other slots'.
        if failures == wait.slots.count { self.finish(wait, .failure(.unavailable)) }
    }

    /// Drops results from streams that have another reader by now.
    private func dropUnasked() {
        let limit = NIODeadline.now() - TimeAmount(RedisLimits.unaskedMax)
        self.readings = self.readings.filter { _, reading in
            if case .ready(_, let since) = reading.state { since > limit } else { true }
        }
    }
}
