import Bus
import NIOCore

/// Reads of many streams of a cluster. A command may name streams of one slot only, so each stream has a read of its own that
/// waits at its master, and goes on waiting from one call of `read` to the next. Lives on its event loop.
final class ClusterReads {
    /// One call of `read`.
    final class Wait {
        fileprivate let streams: Set<String>
        fileprivate var timer: Scheduled<Void>?
        fileprivate var done: ((Result<[StreamBatch], BusError>) -> Void)?

        fileprivate init(_ streams: Set<String>, done: @escaping (Result<[StreamBatch], BusError>) -> Void) {
            self.streams = streams
            self.done = done
        }
    }

    private enum State {
        case waiting(BlockingCall)
        case ready(StreamBatch, since: NIODeadline)
        /// It could not be read. `Scheduled` is the next attempt.
        case failed(Scheduled<Void>)
    }

    private struct Reading {
        let after: EntryID
        let limit: Int
        let bytesMax: Int
        let blockFor: Duration
        var state: State
    }

    private unowned let cluster: RedisCluster
    private let eventLoop: any EventLoop
    private var readings: [String: Reading] = [:]
    private var waits: [ObjectIdentifier: Wait] = [:]
    private var deliveryIsDue = false

    init(cluster: RedisCluster, eventLoop: any EventLoop) {
        self.cluster = cluster
        self.eventLoop = eventLoop
    }

    /// - Parameter done: called once; with nothing when the time is up. Fails if no stream can be read.
    /// - Returns: what to call off; nil if `done` was called already.
    func read(
        _ positions: [(stream: String, after: EntryID)], limit: Int, blockFor: Duration,
        done: @escaping (Result<[StreamBatch], BusError>) -> Void
    ) -> Wait? {
        self.dropUnasked()
        let bytesMax = BusLimits.readBytesMax / max(1, positions.count)
        for (stream, after) in positions {
            if let reading = self.readings[stream] {
                if reading.after == after, reading.limit == limit { continue }
                // Forgotten first: what its end brings is of no use to the next read of this stream.
                self.readings[stream] = nil
                self.end(reading)
            }
            self.begin(stream, after: after, limit: limit, bytesMax: bytesMax, blockFor: blockFor)
        }
        let wait = Wait(Set(positions.map(\.stream)), done: done)
        self.deliver(to: wait)
        guard wait.done != nil else { return nil }
        self.waits[ObjectIdentifier(wait)] = wait
        wait.timer = self.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(blockFor)) { self.callOff(wait) }
        return wait
    }

    /// Ends the call with nothing. Its streams go on being read for the next one.
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

    // MARK: One stream

    private func begin(_ stream: String, after: EntryID, limit: Int, bytesMax: Int, blockFor: Duration) {
        let command = RedisCommand.read([(stream, after)], limit: limit, blockFor: blockFor, bytesMax: bytesMax)
        let call = BlockingCall()
        self.readings[stream] = Reading(
            after: after, limit: limit, bytesMax: bytesMax, blockFor: blockFor, state: .waiting(call))
        guard let readers = self.cluster.readers(for: command) else { return self.failed(stream, .unavailable) }
        call.start(command, blockFor: blockFor, on: readers, eventLoop: self.eventLoop) { outcome in
            guard case .waiting(let current)? = self.readings[stream]?.state, current === call else { return }
            switch outcome.flatMap({ $0.map { Result.success($0) } ?? .failure(.unavailable) }).decoded({
                cursor throws(BusError) in try cursor.batches()
            }) {
            case .success(let batches):
                guard let batch = batches.first else { return self.again(stream) }
                self.readings[stream]?.state = .ready(batch, since: .now())
                self.deliverSoon()
            case .failure(let error): self.failed(stream, error)
            }
        }
    }

    /// The server has waited as long as it may.
    private func again(_ stream: String) {
        guard let reading = self.readings.removeValue(forKey: stream), self.isAsked(stream) else { return }
        self.begin(
            stream, after: reading.after, limit: reading.limit, bytesMax: reading.bytesMax, blockFor: reading.blockFor)
    }

    private func failed(_ stream: String, _ error: BusError) {
        // The server says so of a read that waits at a master which has become a replica.
        let isOver = if case .refused(let reason) = error { !reason.hasPrefix("UNBLOCKED") } else { false }
        if isOver {
            self.readings[stream] = nil
            for wait in self.waits.values where wait.streams.contains(stream) { self.finish(wait, .failure(error)) }
            return
        }
        self.readings[stream]?.state = .failed(
            self.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(RedisLimits.readRetry)) { self.again(stream) })
        self.deliverSoon()
    }

    private func end(_ reading: Reading) {
        switch reading.state {
        case .waiting(let call): call.callOff()
        case .ready: break
        case .failed(let next): next.cancel()
        }
    }

    private func isAsked(_ stream: String) -> Bool { self.waits.values.contains { $0.streams.contains(stream) } }

    // MARK: Delivery

    /// At the end of this turn: what other streams had comes along.
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
        for stream in wait.streams {
            switch self.readings[stream]?.state {
            case .ready(let batch, _):
                batches.append(batch)
                self.readings[stream] = nil
            case .failed: failures += 1
            case .waiting, nil: break
            }
        }
        if !batches.isEmpty { return self.finish(wait, .success(batches)) }
        // One master's loss is not the other streams'.
        if failures == wait.streams.count { self.finish(wait, .failure(.unavailable)) }
    }

    /// What was read of streams that have another reader by now.
    private func dropUnasked() {
        let limit = NIODeadline.now() - TimeAmount(RedisLimits.unaskedMax)
        self.readings = self.readings.filter { _, reading in
            if case .ready(_, let since) = reading.state { since > limit } else { true }
        }
    }
}
