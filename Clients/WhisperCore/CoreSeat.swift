import Contract
package import Dispatch
import WhisperClient

/// One of several programs that share a core. It reads events for a consumer of its own.
///
/// Answers to its requests go to this program alone. Passing events go to all programs.
package final class CoreSeat: Sendable {
    let core: Core
    let feed: EventFeed

    init(_ core: Core, _ feed: EventFeed) {
        (self.core, self.feed) = (core, feed)
    }

    /// As `Core.nextEvent`. One thread may wait at a time.
    package func nextEvent(until deadline: DispatchTime?) -> [UInt8]? { Core.text(of: self.feed.next(until: deadline)) }

    /// The same for tasks, without an end of the wait.
    package func nextEvent() async -> [UInt8]? { await Blocking.run { self.nextEvent(until: nil) } }

    /// As the verb `events_subscribe`.
    /// - Parameter takes: whether another program that reads for the consumer is told by the event `taken`, and ends.
    /// - Returns: the verb's result as an event.
    /// - Throws: why it is refused.
    package func subscribe(
        to consumer: String, after: Int64? = nil, takes: Bool = false
    ) async throws(CoreError) -> [UInt8] {
        if takes { self.core.take(consumer) }
        var json = JSONWriter()
        json.add("consumer", consumer)
        if let after { json.add("after", after) }
        switch await self.core.outcome(ofVerb: "events_subscribe", json.finished(), at: self) {
        case .result(let result): return EventText.envelope(result, number: nil, account: nil)
        case .error(let error): throw error
        }
    }

    /// The same for a program that reads no progress.
    /// - Returns: why it is refused; `nil` if it is not.
    package func refusalToRead(for consumer: String, after: Int64? = nil) async -> CoreError? {
        do throws(CoreError) {
            _ = try await self.subscribe(to: consumer, after: after)
            return nil
        } catch {
            return error
        }
    }

    /// As the verb `events_ack`.
    /// - Returns: why it is not kept.
    @discardableResult
    package func acknowledge(_ number: Int64, by consumer: String) async -> CoreError? {
        var json = JSONWriter()
        json.add("consumer", consumer)
        json.add("seq", number)
        return await self.perform("events_ack", json.finished())
    }

    private func perform(_ verb: String, _ parameters: [UInt8]) async -> CoreError? {
        guard case .error(let error) = await self.core.outcome(ofVerb: verb, parameters, at: self) else { return nil }
        return error
    }

    /// Ends the current wait for an event, or the next one.
    package func interrupt() { self.feed.interrupt() }

    /// The program is gone. Events that its consumer has not acknowledged wait for the next reader. A second call is
    /// harmless.
    package func leave() { self.core.remove(self) }
}

/// The calling program's feed, among those of its core.
struct EventReader: Sendable {
    let feeds: EventFeeds
    let feed: EventFeed

    /// From here on the reader gets the numbered events of a consumer.
    /// - Parameter subscribe: finds out up to where it had them.
    /// - Throws: `.busyReader` if another program reads for it, and what `subscribe` throws.
    func read(for consumer: String, _ subscribe: () throws -> ConsumerProgress) throws -> ConsumerProgress {
        self.feed.isSubscribing(true)
        defer { self.feed.isSubscribing(false) }
        let claim = self.feeds.claim(consumer, for: self.feed, until: .now() + self.feed.handOver)
        guard claim != .taken else {
            throw CoreError(.busyReader, "Another program reads events for this consumer.", field: "consumer")
        }
        do {
            let progress = try subscribe()
            if claim == .granted {
                self.feeds.subscribe(self.feed, to: consumer, position: progress.acknowledged)
            }
            return progress
        } catch {
            self.feeds.release(consumer, by: self.feed)
            throw error
        }
    }
}
