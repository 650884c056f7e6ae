import Testing

@testable import RouterCore

@Suite struct ReadPacingTests {
    private let start = ContinuousClock.now
    private let interval = Duration.milliseconds(3)

    /// Reads that each bring `jobs`, so far apart, for half a second.
    private func pacing(jobs: Int, every gap: Duration) -> (ReadPacing, now: ContinuousClock.Instant) {
        var pacing = ReadPacing(interval: self.interval)
        var now = self.start
        while now < self.start + .milliseconds(500) {
            now += gap
            pacing.hasRead(jobs: jobs, at: now)
        }
        return (pacing, now)
    }

    @Test func aJobThatComesAloneIsReadAtOnce() {
        let (pacing, now) = self.pacing(jobs: 1, every: .milliseconds(10))
        #expect(pacing.pause(at: now) == .zero)
    }

    @Test func theFirstReadWaitsForNothing() {
        #expect(ReadPacing(interval: self.interval).pause(at: self.start) == .zero)
    }

    @Test func aReadWaitsWhileSeveralJobsComeWithinTheWait() {
        let (pacing, now) = self.pacing(jobs: 3, every: .milliseconds(3))
        #expect(pacing.pause(at: now) == self.interval)
        #expect(pacing.pause(at: now + .milliseconds(2)) == .milliseconds(1))
    }

    @Test func aReadThatComesLateWaitsNoMore() {
        let (pacing, now) = self.pacing(jobs: 3, every: .milliseconds(3))
        #expect(pacing.pause(at: now + .milliseconds(3)) == .zero)
        #expect(pacing.pause(at: now + .seconds(10)) == .zero)
    }

    @Test func aBurstIsForgottenSoonAfterIt() {
        var (pacing, now) = self.pacing(jobs: 50, every: .milliseconds(3))
        for _ in 0..<10 {
            now += .milliseconds(100)
            pacing.hasRead(jobs: 1, at: now)
        }
        #expect(pacing.pause(at: now) == .zero)
    }
}
