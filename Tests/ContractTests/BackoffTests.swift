import Contract
import TestKit
import Testing

@Suite struct BackoffTests {
    private let backoff = Backoff(first: .milliseconds(500), longest: .seconds(60))

    @Test func aPauseDoublesUpToItsBound() {
        let pauses = [0, 1, 2, 3, 7, 8, 9, 1_000, .max].map { self.backoff.pause(after: $0) }
        #expect(pauses[..<5] == [.milliseconds(500), .milliseconds(500), .seconds(1), .seconds(2), .seconds(32)])
        #expect(pauses[5...].allSatisfy { $0 == .seconds(60) })
    }

    @Test(arguments: Prove.seeds(0..<100))
    func delaysGrowWithinTheirBounds(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for failures in 1...40 {
            let whole = min(Duration.milliseconds(500) * (1 << min(failures - 1, 20)), .seconds(60))
            let delay = self.backoff.delay(after: failures, using: &random)
            #expect(delay >= whole / 2 && delay <= whole)
        }
    }
}
