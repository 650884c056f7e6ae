import Dispatch
import Synchronization

/// The feeds of all readers of a core's events. Each gets passing events, and numbered events for its own consumer.
final class EventFeeds: Sendable {
    private struct State {
        var feeds: [EventFeed] = []
        /// The feed that reads for each consumer.
        var readers: [String: EventFeed] = [:]
        /// The feed with a grace that read for each consumer before.
        var before: [String: EventFeed] = [:]
        /// Readers waiting until a consumer has no reader.
        var waiting: [DispatchSemaphore] = []
        var isClosed = false

        @discardableResult
        mutating func removeReader(of consumer: String) -> EventFeed? {
            let reader = self.readers.removeValue(forKey: consumer)
            if let reader, reader.grace > .zero { self.before[consumer] = reader }
            return reader
        }

        /// Ends the waits, if there are any.
        mutating func wakeAll() {
            for semaphore in self.waiting { semaphore.signal() }
            self.waiting = []
        }
    }

    /// Whether a feed may read for a consumer.
    enum Claim: Equatable, Sendable {
        case granted
        /// Another feed does.
        case taken
        /// The feed is none of these: nobody reads from it.
        case noFeed
    }

    private let state = Mutex(State())

    /// - Returns: `false` if there are `CoreLimits.seatsMax` already, or the core is closed.
    func add(_ feed: EventFeed) -> Bool {
        self.state.withLock { state in
            guard !state.isClosed, state.feeds.count < CoreLimits.seatsMax else { return false }
            state.feeds.append(feed)
            return true
        }
    }

    /// Whether somebody may read from a feed.
    func contains(_ feed: EventFeed) -> Bool { self.state.withLock { $0.feeds.contains { $0 === feed } } }

    /// Nobody reads from a feed any more. Its consumer has no reader from here on.
    func remove(_ feed: EventFeed) {
        self.state.withLock { state in
            state.feeds.removeAll { $0 === feed }
            for (consumer, reader) in state.readers where reader === feed { state.removeReader(of: consumer) }
            state.wakeAll()
        }
        feed.close()
    }

    func close() {
        let feeds = self.state.withLock { state in
            state.isClosed = true
            state.wakeAll()
            return state.feeds
        }
        for feed in feeds { feed.close() }
    }

    // MARK: Events

    /// - Parameter event: without a number. It is written once.
    func push(_ event: @autoclosure () -> [UInt8], _ kind: EventFeed.Kind) {
        var written: [UInt8]?
        func text() -> [UInt8] {
            if let written { return written }
            let text = event()
            written = text
            return text
        }
        for feed in self.state.withLock({ $0.feeds }) { feed.push(text(), kind) }
    }

    /// A consumer has done all events up to a number, whoever says so.
    func acknowledge(_ number: Int64, by consumer: String) {
        for feed in self.state.withLock({ $0.feeds }) { feed.acknowledge(number, by: consumer) }
    }

    // MARK: Consumers

    /// Makes a feed the only one that reads for a consumer. While another one does, it waits: a program that was started anew
    /// may come before the end of its earlier life was seen. It blocks its thread.
    func claim(_ consumer: String, for feed: EventFeed, until deadline: DispatchTime) -> Claim {
        while true {
            let semaphore = DispatchSemaphore(value: 0)
            let claim = self.state.withLock { state -> Claim in
                guard state.feeds.contains(where: { $0 === feed }) else { return .noFeed }
                if let reader = state.readers[consumer], reader !== feed {
                    state.waiting.append(semaphore)
                    return .taken
                }
                state.readers[consumer] = feed
                return .granted
            }
            guard claim == .taken, !self.state.withLock({ $0.isClosed }) else { return claim }
            guard semaphore.wait(timeout: deadline) == .success else {
                self.state.withLock { state in state.waiting.removeAll { $0 === semaphore } }
                return .taken
            }
        }
    }

    /// A feed reads for this consumer and no other.
    func subscribe(_ feed: EventFeed, to consumer: String, position: Int64) {
        feed.subscribe(consumer, position: position)
        self.state.withLock { state in
            state.readers = state.readers.filter { $0.value !== feed || $0.key == consumer }
            state.wakeAll()
        }
    }

    /// A claim that came to nothing.
    func release(_ consumer: String, by feed: EventFeed) {
        self.state.withLock { state in
            guard state.readers[consumer] === feed, feed.consumerName != consumer else { return }
            state.readers[consumer] = nil
            state.wakeAll()
        }
    }

    /// A consumer is no more.
    func unsubscribe(_ consumer: String) {
        let feeds = self.state.withLock { state in
            state.readers[consumer] = nil
            state.wakeAll()
            return state.feeds
        }
        for feed in feeds { feed.unsubscribe(consumer) }
    }

    /// The store is gone, and all consumers with it.
    func unsubscribeAll() {
        for consumer in self.state.withLock({ Array($0.readers.keys) }) { self.unsubscribe(consumer) }
    }

    /// A consumer has no reader from here on. The one that it had is told so.
    func take(_ consumer: String, telling event: [UInt8]) {
        let reader = self.state.withLock { state in
            defer { state.wakeAll() }
            return state.removeReader(of: consumer)
        }
        guard let reader else { return }
        reader.unsubscribe(consumer)
        reader.push(event, .passing)
    }

    /// The feed with a grace that read for a consumer before. The next call gives none.
    func takeFeed(before consumer: String) -> EventFeed? {
        self.state.withLock { $0.before.removeValue(forKey: consumer) }
    }

    /// The feed that reads for a consumer, if any.
    func reader(of consumer: String) -> EventFeed? { self.state.withLock { $0.readers[consumer] } }

    /// A reader waits for a consumer to have no reader.
    var hasWaiting: Bool { self.state.withLock { !$0.waiting.isEmpty } }
}
