import Contract
import Telemetry
import Testing

@testable import PushCore

@Suite struct WakePlanTests {
    private let now = Timestamp(milliseconds: 1_700_000_000_000)

    @Test func theFirstMessageIsPushedAtOnce() {
        #expect(WakePlan.decide(WakePlan.History(), at: self.now) == .push)
        // Also after one that was answered.
        let history = WakePlan.History(sentAt: self.now, unanswered: 0)
        #expect(WakePlan.decide(history, at: self.now) == .push)
    }

    @Test(arguments: [(1, 30), (2, 120), (3, 600), (4, 1_800), (50, 1_800)])
    func theRestWaitsTheLongerTheLessAnswers(unanswered: Int, seconds: Int64) {
        let history = WakePlan.History(sentAt: self.now, unanswered: unanswered)
        let end = self.now + .seconds(seconds)
        #expect(WakePlan.decide(history, at: self.now + .seconds(1)) == .hold(until: end))
        #expect(WakePlan.decide(history, at: end) == .push)
        #expect(WakePlan.decide(history, at: self.now - .seconds(9)) == .push, "the clock was set back")
    }

    @Test func aFailingProviderIsNotAskedMoreOftenByNewMail() {
        let due = self.now + .seconds(60)
        let history = WakePlan.History(failures: 2, dueAt: due)
        #expect(WakePlan.decide(history, at: self.now) == .hold(until: due))
        #expect(WakePlan.decide(history, at: due) == .push)
        let ahead = WakePlan.History(failures: 2, dueAt: self.now + .seconds(21_600))
        #expect(WakePlan.decide(ahead, at: self.now) == .push, "a clock was six hours ahead")
    }

    @Test func remindersGoOutAtTheirTimesAndThenNoMore() {
        var history = WakePlan.History()
        for pause in WakePlan.reminderPauses {
            history = WakePlan.after(.sent, history, at: self.now, chance: 0).history
            #expect(history.dueAt == self.now + pause)
        }
        history = WakePlan.after(.sent, history, at: self.now, chance: 0).history
        #expect(history.dueAt == nil && history.unanswered == WakePlan.reminderPauses.count + 1)
    }

    @Test func aFailureIsTriedAgainLaterAndLaterAndThenGivenUp() {
        var history = WakePlan.History()
        var pauses: [Int64] = []
        for failure in 1..<WakePlan.failuresMax {
            let step = WakePlan.after(.later(.unavailable, after: nil), history, at: self.now, chance: 0.999_999)
            #expect(!step.isDead && step.history.failures == failure)
            pauses.append(step.history.dueAt!.milliseconds - self.now.milliseconds)
            history = step.history
        }
        #expect(pauses == pauses.sorted() && pauses.first! < 2_001 && pauses.last! <= 300_000)
        let last = WakePlan.after(.later(.unavailable, after: nil), history, at: self.now, chance: 0)
        #expect(last.isDead && last.history.dueAt == nil && last.history.failures == 0)
    }

    /// Nothing else wakes somebody whose mail came during the outage, if no more mail comes.
    @Test func aProviderThatIsAwayForTwoHoursCostsNoWakeUp() {
        var (history, time) = (WakePlan.History(), self.now)
        while time < self.now + .seconds(7_200) {
            let step = WakePlan.after(.later(.unavailable, after: nil), history, at: time, chance: 0)
            guard let due = step.history.dueAt else {
                Issue.record("given up after \(time.milliseconds - self.now.milliseconds) ms")
                return
            }
            (history, time) = (step.history, due)
        }
        #expect(WakePlan.after(.sent, history, at: time, chance: 0).history.unanswered == 1)
    }

    @Test func whoFoundNoRoomComesAgainSoonAndIsNeverGivenUp() {
        let history = WakePlan.History(sentAt: self.now, unanswered: 2, failures: WakePlan.failuresMax - 1)
        for (chance, pause) in [(0.0, WakePlan.busyPause), (1.0, WakePlan.busyPause * 2)] {
            let step = WakePlan.after(.busy, history, at: self.now, chance: chance)
            var expected = history
            expected.dueAt = self.now + pause
            #expect(step == WakePlan.Step(history: expected))
        }
    }

    @Test func aProvidersWishIsKeptWithinABound() {
        #expect(WakePlan.pause(failures: 1, after: .seconds(100), chance: 0) == .seconds(100))
        #expect(WakePlan.pause(failures: 1, after: .seconds(100_000), chance: 0) == WakePlan.retryAfterMax)
        #expect(WakePlan.pause(failures: 8, after: .seconds(1), chance: 0) > .seconds(60))
    }

    @Test func aTokenThatIsGoneLeavesNothingToDo() {
        let step = WakePlan.after(
            .tokenGone(asOf: self.now), WakePlan.History(failures: 3, dueAt: self.now), at: self.now, chance: 0)
        #expect(!step.isDead && step.history.dueAt == nil && step.history.failures == 0)
        #expect(WakePlan.after(.refused, WakePlan.History(), at: self.now, chance: 0).isDead)
    }

    @Test func oneWhoComesIsSeenOnceAndWatchedNoLonger() {
        let start = ContinuousClock.now
        var watch = WakeWatch(length: .seconds(10), watchedMax: 1)
        let (alice, bob) = (WhisperID(bits: 1)!, WhisperID(bits: 2)!)
        watch.sent(to: alice, at: start)
        watch.sent(to: bob, at: start)
        #expect(watch.watched(at: start + .seconds(1)) == [alice], "there is room for one")
        #expect(watch.came(alice, at: start + .seconds(3)) == .seconds(3))
        #expect(watch.came(alice, at: start + .seconds(3)) == nil)
        watch.sent(to: bob, at: start)
        #expect(watch.watched(at: start + .seconds(10)).isEmpty)
    }

    @Test func aCallsMarkIsReadAsWritten() {
        for mark in [CallMark.over, .sent(until: self.now)] { #expect(CallMark(mark.bytes) == mark) }
        for text in ["", "sent", "sent x", "over 1"] { #expect(CallMark(Array(text.utf8)) == nil) }
    }
}
