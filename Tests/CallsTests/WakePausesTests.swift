@testable import ConversationsCore
import Contract
import Testing

/// How often somebody is woken because of the same: knocks at a conversation, for one (contract §14.7).
@Suite struct WakePausesTests {
    private let one = ConversationID(high: 1, low: 1)
    private let other = ConversationID(high: 1, low: 2)

    @Test func aConversationIsWokenOnceInFiveMinutes() {
        var wakes = WakePauses<ConversationID>(of: ConversationLimits.knockWakePause)
        let start = ContinuousClock.now
        let again = start + ConversationLimits.knockWakePause
        let answers = [
            wakes.admits(self.one, at: start),
            wakes.admits(self.one, at: again - .milliseconds(1)),
            wakes.admits(self.other, at: start),
            wakes.admits(self.one, at: again),
            // Counted from the last wake-up, not from the first.
            wakes.admits(self.one, at: again + .seconds(1)),
        ]
        #expect(answers == [true, false, true, true, false])
    }

    @Test func aWakeUpThatGotLostIsNoneOfThem() {
        var wakes = WakePauses<ConversationID>(of: ConversationLimits.knockWakePause)
        let start = ContinuousClock.now
        let first = wakes.admits(self.one, at: start)
        wakes.failed(self.one)
        let second = wakes.admits(self.one, at: start)
        #expect(first && second)
    }

    @Test func theOldestAreForgottenBeyondTheBound() {
        var wakes = WakePauses<ConversationID>(of: ConversationLimits.knockWakePause)
        let start = ContinuousClock.now
        let most = ConversationLimits.wakesRememberedMax
        let answers = (0...most).map { number in
            wakes.admits(ConversationID(high: 2, low: UInt64(number)), at: start + .milliseconds(number))
        }
        #expect(!answers.contains(false))
        let end = start + .milliseconds(most)
        let (oldest, newer) = (ConversationID(high: 2, low: 0), ConversationID(high: 2, low: 2))
        let later = [wakes.admits(newer, at: end), wakes.admits(oldest, at: end)]
        #expect(later == [false, true])
    }
}
