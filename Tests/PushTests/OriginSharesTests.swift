import PushCore
import Testing

@Suite struct OriginSharesTests {
    private let start = ContinuousClock.now
    private let slow = "https://slow.example"
    private let fast = "https://fast.example"

    @Test func anOriginThatAnswersIsNotHeldBack() {
        var shares = OriginShares(allMax: 1_000, slowMax: 2, slowAfter: .seconds(1))
        for number in 0..<100 {
            let share = shares.begin(self.fast, at: self.start + .milliseconds(number))
            #expect(share != nil)
        }
        #expect(shares.count == 100)
    }

    @Test func anOriginThatLetsUsWaitHasItsShare() {
        var shares = OriginShares(allMax: 1_000, slowMax: 2, slowAfter: .seconds(1))
        let first = shares.begin(self.slow, at: self.start)!
        #expect(shares.begin(self.slow, at: self.start) != nil)
        let later = self.start + .seconds(1)
        #expect(shares.begin(self.slow, at: later) == nil)
        #expect(shares.begin(self.fast, at: later) != nil)
        shares.end(first)
        #expect(shares.begin(self.slow, at: later) != nil)
    }

    @Test func oneThatAnswersHasNotAllOfThem() {
        var shares = OriginShares(allMax: 1_000, eachMax: 5, slowMax: 2, slowAfter: .seconds(1))
        #expect((0..<10).count { _ in shares.begin(self.fast, at: self.start) != nil } == 5)
        #expect(shares.begin(self.slow, at: self.start) != nil)
    }

    @Test func allOfThemLeaveRoomForOthers() {
        var shares = OriginShares(allMax: 3, slowMax: 2, slowAfter: .seconds(1))
        let begun = (0..<3).compactMap { shares.begin("https://\($0).example", at: self.start) }
        #expect(begun.count == 3)
        #expect(shares.begin(self.fast, at: self.start) == nil)
        shares.end(begun[0])
        // Ended once, whoever says so again.
        shares.end(begun[0])
        #expect(shares.count == 2)
        #expect(shares.begin(self.fast, at: self.start) != nil)
        #expect(shares.begin(self.slow, at: self.start) == nil)
    }
}
