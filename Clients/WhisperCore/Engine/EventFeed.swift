import Contract
import Dispatch
import Synchronization
import WhisperClient

/// Events on their way to one reader: numbered events from the store, passing events from a bounded queue.
final class EventFeed: Sendable {
    private struct State {
        /// Read from the store, the next at the end.
        var page: [[UInt8]] = []
        /// Without numbers, in their order, and whether a consumer would read them from the store.
        var waiting: [(event: [UInt8], kind: Kind)] = []
        /// Log lines among them.
        var logCount = 0
        /// The reader is about to have a consumer. Events that it then reads from the store must not come without a
        /// number before.
        var isSubscribing = false
        /// Events without numbers that had no room since the last was read.
        var lost: Int64 = 0
        /// For whom numbered events are read, and up to where they were.
        var consumer: (name: String, position: Int64)?
        /// The store may have more behind `page`.
        var isBehind = false
        /// The store could not be read, and is not asked before this.
        var readsAgainAt: DispatchTime?
        /// How many numbered events may wait for their acknowledgement at the reader's; `nil` is no bound.
        var unacknowledgedMax: Int?
        /// Their numbers, if there is a bound.
        var unacknowledged: [Int64] = []
        var hasReader = false
        /// The reader waits for the semaphore.
        var isAsleep = false
        var isInterrupted = false
        var isClosed = false

        var hasWaiting: Bool { !self.waiting.isEmpty && !self.isSubscribing }

        /// There is one.
        mutating func takeWaiting(at index: Int = 0) -> [UInt8] {
            let (event, kind) = self.waiting.remove(at: index)
            if kind == .log { self.logCount -= 1 }
            return event
        }

        /// The store is to be read.
        var hasMore: Bool { self.wantsMore && self.readsAgainAt.map { $0 <= .now() } ?? true }

        /// The same, now or later.
        var wantsMore: Bool { self.consumer != nil && self.isBehind && self.hasRoom }

        /// A whole page may be given out.
        private var hasRoom: Bool {
            guard let most = self.unacknowledgedMax else { return true }
            return self.unacknowledged.count + CoreLimits.eventsReadMax <= most
        }
    }

    /// An event without a number.
    enum Kind: Equatable, Sendable {
        /// A consumer reads it from the store instead.
        case kept
        /// An event of the moment.
        case passing
        /// A part of what is sent to somebody. Its sender bounds how much waits: others go first.
        case data
        /// A log line of the core. It displaces no other event.
        case log
    }

    /// Result of a read.
    enum Next: Equatable, Sendable {
        case event([UInt8])
        /// The time is over, or the wait was interrupted.
        case nothing
        case closed
        case busy
    }

    private let state = Mutex(State())
    private let wake = DispatchSemaphore(value: 0)
    /// Numbered events behind a number, as they are given out.
    private let read: @Sendable (Int64) throws -> [(number: Int64, event: [UInt8])]

    /// How long its reader waits for the one before it to be gone.
    let handOver: DispatchTimeInterval
    /// How long things that its program holds stay open when the program has gone.
    let grace: Duration

    init(
        handOver: DispatchTimeInterval = CoreLimits.handOver, grace: Duration = .zero,
        read: @escaping @Sendable (Int64) throws -> [(number: Int64, event: [UInt8])]
    ) {
        (self.handOver, self.grace, self.read) = (handOver, grace, read)
    }

    // MARK: Writing

    func push(_ event: @autoclosure () -> [UInt8], _ kind: Kind) {
        self.change { state in
            guard !state.isClosed else { return }
            if kind == .kept, state.consumer != nil {
                state.isBehind = true
                return
            }
            if kind == .log {
                guard state.logCount < CoreLimits.logsWaitingMax else { return }
                state.logCount += 1
            }
            state.waiting.append((event(), kind))
            if state.waiting.count > CoreLimits.eventsWaitingMax {
                _ = state.takeWaiting(at: state.waiting.firstIndex { $0.kind != .data } ?? 0)
                state.lost += 1
            }
        }
    }

    /// From here on the reader gets the numbered events of a consumer, from its position on.
    func subscribe(_ consumer: String, position: Int64) {
        self.change { state in
            state.consumer = (consumer, position)
            state.page = []
            state.isBehind = true
            state.unacknowledged = []
            state.waiting.removeAll { $0.kind == .kept }
        }
    }

    /// While it is so, the reader gets nothing without a number.
    func isSubscribing(_ isSubscribing: Bool) {
        self.change { $0.isSubscribing = isSubscribing }
    }

    /// From here on a reader that does not acknowledge gets no more numbered events than these. Others still come.
    func bound(unacknowledged most: Int) {
        self.state.withLock { $0.unacknowledgedMax = most }
    }

    /// A consumer has done all events up to a number.
    func acknowledge(_ number: Int64, by consumer: String) {
        self.change { state in
            guard state.consumer?.name == consumer else { return }
            state.unacknowledged.removeAll { $0 <= number }
        }
    }

    /// Something waits for the reader here.
    var hasEvents: Bool { self.state.withLock { !$0.page.isEmpty || $0.hasWaiting } }

    /// For whom numbered events are read.
    var consumerName: String? { self.state.withLock { $0.consumer?.name } }

    func unsubscribe(_ consumer: String) {
        self.state.withLock { state in
            guard state.consumer?.name == consumer else { return }
            state.consumer = nil
            (state.page, state.unacknowledged) = ([], [])
        }
    }

    /// Nothing but a change wakes the reader.
    var isReaderAsleep: Bool { self.state.withLock { $0.isAsleep } }

    func interrupt() { self.change { $0.isInterrupted = true } }

    func close() { self.change { $0.isClosed = true } }

    private func change(_ change: (inout State) -> Void) {
        let wakes = self.state.withLock { state in
            change(&state)
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if wakes { self.wake.signal() }
    }

    // MARK: Reading

    /// Waits for the next event. It blocks its thread.
    /// - Parameter deadline: `nil` waits for ever.
    func next(until deadline: DispatchTime?) -> Next {
        guard
            self.state.withLock({ state in
                defer { state.hasReader = true }
                return !state.hasReader
            })
        else { return .busy }
        defer { self.state.withLock { $0.hasReader = false } }
        while true {
            if let next = self.take() { return next }
            if let position = self.positionToRead() {
                self.fill(from: position)
                continue
            }
            guard self.fallAsleep() else { continue }
            guard let end = [deadline, self.readsAgainAt].compactMap({ $0 }).min() else {
                self.wake.wait()
                continue
            }
            guard self.wake.wait(timeout: end) == .timedOut else { continue }
            self.wakeUp()
            if let deadline, deadline <= .now() { return self.take() ?? .nothing }
        }
    }

    private func take() -> Next? {
        self.state.withLock { state in
            if state.isClosed { return .closed }
            if state.isInterrupted {
                state.isInterrupted = false
                return .nothing
            }
            if let event = state.page.popLast() { return .event(event) }
            guard !state.hasMore, state.hasWaiting else { return nil }
            if state.lost > 0 {
                defer { state.lost = 0 }
                return .event(EventText.lost(state.lost))
            }
            return .event(state.takeWaiting())
        }
    }

    private func positionToRead() -> Int64? {
        self.state.withLock { state in
            guard state.hasMore, let consumer = state.consumer else { return nil }
            // Events from now on set it again.
            state.isBehind = false
            return consumer.position
        }
    }

    private func fill(from position: Int64) {
        let events: [(number: Int64, event: [UInt8])]
        do {
            events = try self.read(position)
        } catch {
            // The store has told so by another way, and keeps its events.
            return self.state.withLock { state in
                (state.isBehind, state.readsAgainAt) = (true, .now() + CoreLimits.readPause)
            }
        }
        self.state.withLock { state in
            state.readsAgainAt = nil
            guard let last = events.last else { return }
            // Another subscription may have come meanwhile.
            guard state.consumer?.position == position, state.page.isEmpty else { return }
            state.consumer?.position = last.number
            state.page = events.reversed().map(\.event)
            state.isBehind = true
            if state.unacknowledgedMax != nil { state.unacknowledged += events.map(\.number) }
        }
    }

    /// - Returns: `false` if there is something to do.
    private func fallAsleep() -> Bool {
        self.state.withLock { state in
            guard !state.isClosed, !state.isInterrupted, state.page.isEmpty, !state.hasWaiting,
                !state.hasMore
            else { return false }
            state.isAsleep = true
            return true
        }
    }

    /// When a store that could not be read is asked again, if it is to be.
    private var readsAgainAt: DispatchTime? { self.state.withLock { $0.wantsMore ? $0.readsAgainAt : nil } }

    /// The time is over. Somebody may have woken us at the same moment: then the semaphore has one to take.
    private func wakeUp() {
        let isWoken = self.state.withLock { state in
            defer { state.isAsleep = false }
            return !state.isAsleep
        }
        if isWoken { self.wake.wait() }
    }
}
