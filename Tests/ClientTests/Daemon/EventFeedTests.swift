import Dispatch
import Synchronization
import Testing

@testable import WhisperCore

/// Events for readers that come and go, and for those that are slow.
@Suite(.timeLimit(.minutes(20))) struct EventFeedTests {
    /// A feed whose store has numbered events.
    private func feed(_ count: Int64) -> EventFeed {
        EventFeed { position in
            guard position < count else { return [] }
            let numbers = position + 1...min(count, position + Int64(CoreLimits.eventsReadMax))
            return numbers.map { ($0, Array("\($0)".utf8)) }
        }
    }

    private func all(_ feed: EventFeed) -> [String] {
        var all: [String] = []
        while case .event(let event) = feed.next(until: .now()) { all.append(String(decoding: event, as: UTF8.self)) }
        return all
    }

    @Test func withAConsumerNumberedEventsComeFromTheStoreAlone() {
        let feed = self.feed(3)
        feed.push(Array("before".utf8), .kept)
        #expect(self.all(feed) == ["before"])
        feed.subscribe("bot", position: 0)
        feed.push(Array("4".utf8), .kept)
        feed.push(Array("passing".utf8), .passing)
        #expect(self.all(feed) == ["1", "2", "3", "passing"])
        feed.subscribe("bot", position: 1)
        #expect(self.all(feed) == ["2", "3"])
    }

    /// A returning consumer reads the events of its absence once, with their numbers.
    @Test func whatTheStoreHasIsNotToldBeforeTheSubscriptionToo() {
        let feed = self.feed(2)
        feed.push(Array("1".utf8), .kept)
        feed.push(Array("passing".utf8), .passing)
        feed.isSubscribing(true)
        #expect(self.all(feed).isEmpty && !feed.hasEvents)
        feed.push(Array("2".utf8), .kept)
        feed.subscribe("bot", position: 0)
        feed.isSubscribing(false)
        #expect(self.all(feed) == ["1", "2", "passing"])
        // A subscription that is refused takes nothing away.
        feed.unsubscribe("bot")
        feed.push(Array("3".utf8), .kept)
        feed.isSubscribing(true)
        feed.isSubscribing(false)
        #expect(self.all(feed) == ["3"])
    }

    @Test func afterItsEndNothingIsKept() {
        let feed = self.feed(0)
        feed.close()
        feed.push(Array("late".utf8), .passing)
        #expect(feed.next(until: nil) == .closed)
        #expect(!feed.hasEvents)
    }

    @Test func aReaderThatDoesNotAcknowledgeGetsNoMore() {
        let (feed, most) = (self.feed(1_000), CoreLimits.eventsUnacknowledgedMax)
        feed.bound(unacknowledged: most)
        feed.subscribe("bot", position: 0)
        #expect(self.all(feed) == (1...most).map(String.init))
        // Events of now still come.
        feed.push(Array("passing".utf8), .passing)
        feed.push(Array("1001".utf8), .kept)
        #expect(self.all(feed) == ["passing"])
        feed.acknowledge(Int64(most), by: "another")
        #expect(self.all(feed).isEmpty)
        // A page at a time.
        feed.acknowledge(Int64(CoreLimits.eventsReadMax) - 1, by: "bot")
        #expect(self.all(feed).isEmpty)
        feed.acknowledge(Int64(CoreLimits.eventsReadMax), by: "bot")
        #expect(self.all(feed) == (most + 1...most + CoreLimits.eventsReadMax).map(String.init))
        feed.subscribe("bot", position: 900)
        #expect(self.all(feed) == (901...1_000).map(String.init))
    }

    @Test func anAcknowledgementWakesTheReader() async {
        let feed = self.feed(1_000)
        feed.bound(unacknowledged: CoreLimits.eventsReadMax)
        feed.subscribe("bot", position: 0)
        #expect(self.all(feed).count == CoreLimits.eventsReadMax)
        async let next = Blocking.run { feed.next(until: .now() + .seconds(30)) }
        while !feed.isReaderAsleep { await Task.yield() }
        feed.acknowledge(Int64(CoreLimits.eventsReadMax), by: "bot")
        #expect(await next == .event(Array("\(CoreLimits.eventsReadMax + 1)".utf8)))
        feed.close()
    }

    /// A core that says much of itself must not push out what others do.
    @Test func logLinesDisplaceNothing() {
        let feed = EventFeed { _ in [] }
        feed.push(Array("first".utf8), .passing)
        for number in 1...CoreLimits.logsWaitingMax + 5 { feed.push(Array("log \(number)".utf8), .log) }
        let passing = CoreLimits.eventsWaitingMax - CoreLimits.logsWaitingMax - 1
        for number in 1...passing { feed.push(Array("\(number)".utf8), .passing) }
        let all = self.all(feed)
        #expect(all.first == "first" && all.count == CoreLimits.eventsWaitingMax)
        #expect(all[1...CoreLimits.logsWaitingMax].map { $0 } == (1...CoreLimits.logsWaitingMax).map { "log \($0)" })
        // Reading the log lines makes room again.
        feed.push(Array("log".utf8), .log)
        #expect(self.all(feed) == ["log"])
    }

    private struct Unreadable: Error {}

    /// Nothing new needs to happen for the events that were there.
    @Test func aStoreThatCouldNotBeReadIsReadAgain() async {
        let reads = Mutex(0)
        let feed = EventFeed { position in
            let count = reads.withLock { reads in
                reads += 1
                return reads
            }
            guard count > 2 else { throw Unreadable() }
            return position < 7 ? [(number: 7, event: [7])] : []
        }
        feed.subscribe("bot", position: 3)
        let next = await Blocking.run { feed.next(until: .now() + .seconds(30)) }
        #expect(next == .event([7]))
        #expect(reads.withLock { $0 } == 3)
        // It has read all there is, and waits no longer than it is told to.
        let nothing = await Blocking.run { feed.next(until: .now() + .milliseconds(1)) }
        #expect(nothing == .nothing)
    }

    /// A reader is told of what happens meanwhile.
    @Test func aStoreThatCannotBeReadHoldsNothingElseUp() async {
        let feed = EventFeed { _ in throw Unreadable() }
        feed.subscribe("bot", position: 0)
        feed.push([9], .passing)
        let next = await Blocking.run { feed.next(until: .now() + .seconds(30)) }
        #expect(next == .event([9]))
        let nothing = await Blocking.run { feed.next(until: .now() + .milliseconds(1)) }
        #expect(nothing == .nothing)
    }
}
