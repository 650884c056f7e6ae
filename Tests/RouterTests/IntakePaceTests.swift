import RouterCore
import Testing

@Suite struct IntakePaceTests {
    @Test func itBeginsWithOneAndGrowsWhileThereIsLittle() {
        var pace = IntakePace(most: 64)
        // A router that has nothing to read learns nothing.
        pace.hasRead(bytes: 0)
        #expect(pace.jobs == 1)
        for jobs in [2, 4, 8, 16, 32, 64, 64] {
            pace.hasRead(bytes: 1_000)
            #expect(pace.jobs == jobs)
        }
        pace.startOver()
        #expect(pace.jobs == 1)
    }

    /// Jobs of any length: after the first batch that was too large, none holds more than was meant.
    @Test(arguments: [300, 12_000, 350_000])
    func batchesHoldWhatARouterHasMemoryFor(jobBytes: Int) {
        let partitions = 32
        var pace = IntakePace(most: 64)
        for _ in 0..<6 { pace.hasRead(bytes: 1) }
        #expect(pace.jobs == 64)
        pace.hasRead(bytes: 64 * partitions * jobBytes)
        var most = 0
        for _ in 0..<100 {
            let bytes = pace.jobs * partitions * jobBytes
            most = max(most, bytes)
            pace.hasRead(bytes: bytes)
        }
        #expect(most <= max(RouterLimits.intakeBytes, partitions * jobBytes))
        #expect(most > RouterLimits.intakeBytes / 8 || pace.jobs == 64)
    }

    /// Redis sent more than was kept: that is not to happen again.
    @Test func aReadThatWasCutIsFollowedByTheSmallest() {
        var pace = IntakePace(most: 64)
        for _ in 0..<6 { pace.hasRead(bytes: 1) }
        pace.hasRead(bytes: RouterLimits.intakeBytes * 3, isCut: true)
        #expect(pace.jobs == 1)
    }

    @Test func aWorldThatWantsOneJobGetsOne() {
        var pace = IntakePace(most: 1)
        for _ in 0..<3 { pace.hasRead(bytes: 10) }
        #expect(pace.jobs == 1)
    }
}
