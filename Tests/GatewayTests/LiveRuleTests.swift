import ClusterContract
import Contract
import TestKit
import Testing

@testable import GatewayCore

/// Rules of senders, slow listeners, and the pace of questions to a whisperer (contract §14.9, §14.10).
@Suite struct LiveRuleTests {
    private func header(
        _ seq: Int64, epoch: Int64 = 3, generation: Int = 2, to: PrincipalID? = nil
    ) -> LivePacketHeader {
        LivePacketHeader(
            conversation: .test, position: LivePosition(epoch: epoch, seq: seq), kind: to == nil ? .diff : .line,
            line: 1, generation: generation, to: to)
    }

    @Test func aHoldersPacketsAreCheckedInTheContractsOrder() {
        let holder = ConnectionID(value: 1)
        let guest = PrincipalID.guest(GuestID(high: 1, low: 2))
        var check = HolderCheck(connection: holder, epoch: 3, generation: 2)
        #expect(check.check(self.header(1)) == .all(previous: 0))
        // Gaps are allowed, repetitions and steps back are dropped.
        #expect(check.check(self.header(5)) == .all(previous: 1))
        #expect(check.check(self.header(5)) == .drop)
        #expect(check.check(self.header(4)) == .drop)
        // Older and newer epochs.
        #expect(check.check(self.header(6, epoch: 2)) == .refuse(.anotherEpoch))
        #expect(check.check(self.header(6, epoch: 4)) == .refuse(.anotherEpoch))
        // A generation above the stream's is refused, one below dropped (§19.3).
        #expect(check.check(self.header(6, generation: 3)) == .refuse(.newerGeneration))
        #expect(check.check(self.header(6, generation: 1)) == .drop)
        // To one listener: with the number of the latest packet to all, and it moves nobody's numbers.
        #expect(check.check(self.header(5, to: guest)) == .one(guest))
        #expect(check.check(self.header(6, to: guest)) == .drop)
        #expect(check.check(self.header(4, to: guest)) == .drop)
        #expect(check.check(self.header(6)) == .all(previous: 5))
        check.generation = 3
        #expect(check.check(self.header(7)) == .drop)
        #expect(check.check(self.header(8, generation: 3)) == .all(previous: 6))
    }

    @Test func onlyTheHolderMaySend() {
        let feed = StreamFeed(.test(epoch: 3, generation: 2), at: 0)
        let (holder, other) = (ConnectionID(value: 1), ConnectionID(value: 2))
        #expect(feed.judge(self.header(1), from: holder) == .refuse(.notHolding))
        #expect(feed.hold(holder))
        #expect(feed.judge(self.header(1), from: other) == .refuse(.notHolding))
        #expect(feed.judge(self.header(1), from: holder) == .all(previous: 0))
        // Told again: its numbers go on.
        #expect(!feed.hold(holder))
        #expect(feed.judge(self.header(1), from: holder) == .drop)
        // An older word ends nothing.
        #expect(!feed.holdNoLonger(holder, epoch: 2) && !feed.holdNoLonger(other))
        #expect(feed.holdNoLonger(holder, epoch: 3))
        #expect(feed.judge(self.header(2), from: holder) == .refuse(.notHolding))
        // Another device has taken over, or the stream has ended: its packets end with that word.
        for next in [LiveStream.test(epoch: 4, generation: 2), .test(epoch: 3, state: .idle, changedAt: 9)] {
            let feed = StreamFeed(.test(epoch: 3, generation: 2), at: 0)
            #expect(feed.hold(holder) && feed.follow(next))
            #expect(feed.judge(self.header(1), from: holder) == .refuse(.notHolding))
        }
    }

    @Test func anOlderWordOfAStreamIsIgnored() {
        let feed = StreamFeed(.test(epoch: 3, generation: 2, changedAt: 50), at: 0)
        #expect(!feed.follow(.test(epoch: 2, changedAt: 90)))
        #expect(!feed.follow(.test(epoch: 3, state: .paused, changedAt: 40)))
        #expect(feed.follow(.test(epoch: 3, state: .paused, changedAt: 60)))
        // Generations do not go back.
        #expect(feed.stream.generation == 2)
    }

    // MARK: Slow listeners

    @Test(arguments: Prove.seeds(0..<200)) func noListenerHasMoreUnreadThanTheBound(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var unread = UnreadContent()
        var pings: [UInt64] = []
        var (written, now) = (0, Int64(0))
        for _ in 0..<2_000 {
            now += Int64(random.upTo(100))
            if random.upTo(4) > 0 {
                let bytes = 1 + random.upTo(17_000)
                guard unread.takes(bytes) else {
                    // There is a pong to come that lets it go on.
                    #expect(unread.isBehind && !pings.isEmpty)
                    continue
                }
                written += bytes
                if let ping = unread.wrote(bytes, at: now) {
                    pings.append(ping)
                    written = 0
                }
                #expect(written < LiveFeedLimits.pingEveryBytes)
                #expect(unread.bytes <= LiveFeedLimits.unreadBytesMax)
            } else if !pings.isEmpty {
                // Clients may answer the newest of several pings only.
                let answered = random.upTo(pings.count)
                let goesOn = unread.pong(pings[answered])
                pings.removeFirst(answered + 1)
                if goesOn { #expect(unread.bytes < LiveFeedLimits.unreadBytesLow) }
                if pings.isEmpty { #expect(!unread.isBehind && unread.bytes == written) }
            }
        }
    }

    @Test func whoAnswersNoPingIsLostAfterAMinute() {
        var unread = UnreadContent()
        #expect(unread.wrote(16_383, at: 1_000) == nil)
        #expect(!unread.isLost(at: 1_000_000))
        #expect(unread.wrote(1, at: 2_000) == 1)
        #expect(unread.wrote(16_384, at: 30_000) == 2)
        #expect(!unread.isLost(at: 62_000) && unread.isLost(at: 62_001))
        // A number that was never sent is no answer.
        #expect(!unread.pong(7) && unread.isLost(at: 62_001))
        _ = unread.pong(1)
        #expect(!unread.isLost(at: 62_001) && unread.isLost(at: 90_001))
        _ = unread.pong(2)
        #expect(unread.bytes == 0 && !unread.isLost(at: 1_000_000))
    }

    // MARK: What a whisperer is asked for

    @Test(arguments: Prove.seeds(0..<200)) func aWhispererIsAskedAtItsPaceAndForAll(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var pace = WantedPace()
        let listeners = (0..<3).map { PrincipalID.guest(GuestID(high: 0, low: $0)) }
        var now: Int64 = 0
        var (snapshots, lines) = ([Int64](), [PrincipalID: [Int64]]())
        var isSnapshotOwed = false
        var owed: [PrincipalID: Int] = [:]
        func serve(_ pace: inout WantedPace) {
            for want in pace.due(at: now) {
                switch want {
                case .snapshot:
                    #expect(isSnapshotOwed)
                    snapshots.append(now)
                    isSnapshotOwed = false
                case .lines(let listener, let from, _):
                    #expect(owed[listener] == from)
                    owed[listener] = nil
                    lines[listener, default: []].append(now)
                }
            }
        }
        for step in 0..<500 {
            now += Int64(random.upTo(400))
            // A timer is late, but never forgotten.
            if let next = pace.nextDue, next <= now { serve(&pace) }
            switch random.upTo(5) {
            case 0, 1:
                pace.want(.snapshot)
                isSnapshotOwed = true
            case 2, 3:
                let listener = listeners[random.upTo(3)]
                pace.want(.lines(listener: listener, from: step, since: Timestamp(milliseconds: 1)))
                owed[listener] = step
            default:
                pace.snapshotCame()
                isSnapshotOwed = false
            }
            serve(&pace)
        }
        while let next = pace.nextDue {
            now = max(now, next)
            serve(&pace)
        }
        #expect(!isSnapshotOwed && owed.isEmpty)
        for (a, b) in zip(snapshots, snapshots.dropFirst()) { #expect(b - a >= 250) }
        for times in lines.values { for (a, b) in zip(times, times.dropFirst()) { #expect(b - a >= 5_000) } }
    }

    @Test func whoHasGoneIsAskedForNoMore() {
        var pace = WantedPace()
        let listener = PrincipalID.guest(GuestID(high: 0, low: 1))
        pace.want(.lines(listener: listener, from: 1, since: Timestamp(milliseconds: 1)))
        pace.gone(listener)
        #expect(pace.nextDue == nil && pace.due(at: 0).isEmpty)
    }

    @Test func aSecondQuestionWithinASecondIsDropped() {
        var pace = ResyncPace()
        let (a, b) = (LivePosition(epoch: 1, seq: 1), LivePosition(epoch: 1, seq: 2))
        #expect(pace.asks(from: a, at: 0) == .answer(repeated: false))
        #expect(pace.asks(from: b, at: 900) == .drop)
        #expect(pace.asks(from: a, at: 1_000) == .answer(repeated: true))
        #expect(pace.asks(from: b, at: 2_000) == .answer(repeated: false))
    }

    // MARK: Nodes

    @Test func aSilentNodeAttendsNoMore() {
        var live = LiveStreams()
        let (a, b) = (NodeID(value: 1), NodeID(value: 2))
        live.attend(.test, by: a, at: 0)
        live.attend(.test, by: b, at: 10_000)
        live.forgetSilentNodes(at: 15_000)
        #expect(Set(live.nodes(attending: .test)) == [a, b])
        live.forgetSilentNodes(at: 15_001)
        #expect(Set(live.nodes(attending: .test)) == [b])
        live.attendNoLonger(.test, by: b)
        #expect(live.nodes(attending: .test).isEmpty)
    }
}
