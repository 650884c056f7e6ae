import Bus
import ClusterContract
import Contract
import PushCore
import Testing
import TestKit

@Suite struct WakeCoalescerTests {
    private let start = ContinuousClock.now
    private let alice = WhisperID("WSP-JBPU-D452-TLT4")!
    private let bob = WhisperID("WSP-7NUF-DNEU-IGIL")!

    private func wake(_ recipient: WhisperID, _ number: UInt64 = 1) -> Wake {
        Wake(
            recipient: recipient, reason: .message, wakeID: UUIDText(high: 0, low: number),
            queuedAt: Timestamp(milliseconds: 1))
    }

    private func job(_ number: UInt64) -> EntryID { EntryID(milliseconds: number, sequence: 0) }

    @Test func theFirstMessageWakesAtOnce() {
        var coalescer = WakeCoalescer(window: .seconds(5))
        let wakeup = coalescer.received(self.wake(self.alice, 7), self.job(1), at: self.start)
        #expect(wakeup?.recipient == self.alice)
        #expect(wakeup?.wakeID == UUIDText(high: 0, low: 7))
        #expect(wakeup?.jobs == [self.job(1)])
        #expect(coalescer.jobsHeld == 0)
    }

    @Test func furtherMessagesAreAnsweredTogetherAtTheEndOfTheWindow() {
        var coalescer = WakeCoalescer(window: .seconds(5))
        _ = coalescer.received(self.wake(self.alice), self.job(1), at: self.start)
        #expect(coalescer.received(self.wake(self.alice, 2), self.job(2), at: self.start + .seconds(1)) == nil)
        #expect(coalescer.received(self.wake(self.alice, 3), self.job(3), at: self.start + .seconds(2)) == nil)
        #expect(coalescer.jobsHeld == 2)
        #expect(coalescer.nextEnd == self.start + .seconds(5))
        #expect(coalescer.due(at: self.start + .seconds(4)).isEmpty)
        let due = coalescer.due(at: self.start + .seconds(5))
        #expect(due.map(\.jobs) == [[self.job(2), self.job(3)]])
        #expect(due[0].wakeID == UUIDText(high: 0, low: 2))
        #expect(coalescer.jobsHeld == 0)
    }

    @Test func aLatePushOpensTheNextWindow() {
        var coalescer = WakeCoalescer(window: .seconds(5))
        _ = coalescer.received(self.wake(self.alice), self.job(1), at: self.start)
        _ = coalescer.received(self.wake(self.alice), self.job(2), at: self.start)
        _ = coalescer.due(at: self.start + .seconds(5))
        #expect(coalescer.received(self.wake(self.alice), self.job(3), at: self.start + .seconds(6)) == nil)
        #expect(coalescer.due(at: self.start + .seconds(10)).map(\.jobs) == [[self.job(3)]])
    }

    @Test func aQuietWindowIsForgotten() {
        var coalescer = WakeCoalescer(window: .seconds(5))
        _ = coalescer.received(self.wake(self.alice), self.job(1), at: self.start)
        #expect(coalescer.due(at: self.start + .seconds(5)).isEmpty)
        #expect(coalescer.nextEnd == nil)
        #expect(coalescer.received(self.wake(self.alice), self.job(2), at: self.start + .seconds(5)) != nil)
    }

    @Test func identitiesDoNotWaitForEachOther() {
        var coalescer = WakeCoalescer(window: .seconds(5))
        _ = coalescer.received(self.wake(self.alice), self.job(1), at: self.start)
        #expect(coalescer.received(self.wake(self.bob), self.job(2), at: self.start)?.recipient == self.bob)
    }

    @Test func withoutRoomForAWindowEveryMessageWakes() {
        var coalescer = WakeCoalescer(window: .seconds(5), windowsMax: 1)
        _ = coalescer.received(self.wake(self.alice), self.job(1), at: self.start)
        #expect(coalescer.received(self.wake(self.bob), self.job(2), at: self.start) != nil)
        #expect(coalescer.received(self.wake(self.bob), self.job(3), at: self.start) != nil)
    }

    @Test func roomIsWhatMayStillGather() {
        var coalescer = WakeCoalescer(window: .seconds(5), jobsMax: 2)
        for number in 1...3 { _ = coalescer.received(self.wake(self.alice), self.job(UInt64(number)), at: self.start) }
        #expect(coalescer.room == 0)
        _ = coalescer.due(at: self.start + .seconds(5))
        #expect(coalescer.room == 2)
    }

    @Test func flushAnswersEverythingGathered() {
        var coalescer = WakeCoalescer(window: .seconds(5))
        for number in 1...3 { _ = coalescer.received(self.wake(self.alice), self.job(UInt64(number)), at: self.start) }
        #expect(coalescer.flush().map(\.jobs) == [[self.job(2), self.job(3)]])
        #expect(coalescer.jobsHeld == 0)
        #expect(coalescer.nextEnd == nil)
    }

    @Test func whosePushIsUnderWayIsNotWokenBesideIt() {
        var coalescer = WakeCoalescer(window: .seconds(5))
        _ = coalescer.received(self.wake(self.alice), self.job(1), at: self.start)
        #expect(
            coalescer.received(self.wake(self.alice), self.job(2), at: self.start + .seconds(1), isUnderWay: true)
                == nil)
        let due = coalescer.due(at: self.start + .seconds(5)) { $0 == self.alice }
        #expect(due.isEmpty)
        // It has waited for a window more; what comes meanwhile goes with it.
        #expect(
            coalescer.received(self.wake(self.alice), self.job(3), at: self.start + .seconds(6), isUnderWay: true)
                == nil)
        #expect(coalescer.jobsHeld == 2)
        #expect(coalescer.due(at: self.start + .seconds(10)).map(\.jobs) == [[self.job(2), self.job(3)]])
        #expect(coalescer.jobsHeld == 0)
    }

    @Test func aWindowThatIsPastDoesNotWakeBesideAPushUnderWay() {
        var coalescer = WakeCoalescer(window: .seconds(5))
        _ = coalescer.received(self.wake(self.alice), self.job(1), at: self.start)
        #expect(coalescer.due(at: self.start + .seconds(5)).isEmpty)
        let late = self.start + .seconds(6)
        #expect(coalescer.received(self.wake(self.alice), self.job(2), at: late, isUnderWay: true) == nil)
        #expect(coalescer.jobsHeld == 1 && coalescer.nextEnd == late + .seconds(5))
        #expect(coalescer.due(at: late + .seconds(5)).map(\.jobs) == [[self.job(2)]])
    }

    /// In any order of events: each Job is answered once, and no identity is woken twice in a window.
    @Test(arguments: Prove.seeds(0..<100)) func everyJobIsAnsweredOnce(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let window = Duration.seconds(5)
        var coalescer = WakeCoalescer(window: window)
        let identities = (1...5).map { WhisperID(bits: $0)! }
        var now = self.start
        var answered: [EntryID] = []
        var lastPush: [WhisperID: ContinuousClock.Instant] = [:]
        func sent(_ wakeup: Wakeup) {
            answered += wakeup.jobs
            if let last = lastPush[wakeup.recipient] { #expect(now - last >= window) }
            lastPush[wakeup.recipient] = now
        }
        for number in 1...300 {
            now += .milliseconds(Int.random(in: 0...2_000, using: &random))
            // Sometimes a Job comes before anybody has looked at the ends of windows.
            if Bool.random(using: &random) { coalescer.due(at: now).forEach(sent) }
            let recipient = identities.randomElement(using: &random)!
            if let wakeup = coalescer.received(self.wake(recipient), self.job(UInt64(number)), at: now) { sent(wakeup) }
        }
        answered += coalescer.flush().flatMap(\.jobs)
        #expect(answered.sorted() == (1...300).map { self.job($0) })
    }
}
