import Contract
import Testing

@testable import WhisperClient

@Suite struct ReadMarkPathTests {
    private let marks = (0..<3).map { _ in OwedReceipt(id: .random(), to: bobID) }

    @Test func aFailedMarkIsFollowedByAPause() {
        var path = ReadMarkPath()
        let start = ContinuousClock.now
        #expect(path.isFree(at: start) && path.nextWake == nil)
        path.send(self.marks)
        path.sent(self.marks[0], arrived: true, at: start)
        path.sent(self.marks[1], arrived: false, at: start)
        #expect(!path.isFree(at: start + NearbyLimits.airPause), "one is under way")
        #expect(path.nextWake == nil)
        path.sent(self.marks[2], arrived: true, at: start)
        let after = start + NearbyLimits.airPause
        #expect(!path.isFree(at: start) && path.nextWake == after)
        path.timerFired(at: start)
        #expect(path.nextWake == after)
        #expect(path.isFree(at: after))
        path.timerFired(at: after)
        #expect(path.nextWake == nil, "nobody wakes twice for it")
    }

    @Test func withoutAFailureThereIsNoPause() {
        var path = ReadMarkPath()
        let start = ContinuousClock.now
        path.send([self.marks[0]])
        #expect(!path.isFree(at: start))
        path.sent(self.marks[0], arrived: true, at: start)
        #expect(path.isFree(at: start) && path.nextWake == nil)
    }
}
