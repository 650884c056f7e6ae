import Testing

@testable import Bus

@Suite struct ArrivalPacingTests {
    private let start = ContinuousClock.now
    private let interval = Duration.milliseconds(3)

    private static func make() -> ArrivalPacing {
        ArrivalPacing(interval: .milliseconds(3), worthWaiting: 2, window: .milliseconds(100))
    }

    /// Reads that each bring `jobs`, so far apart, for half a second.
    private func pacing(jobs: Int, every gap: Duration) -> (ArrivalPacing, now: ContinuousClock.Instant) {
        var pacing = Self.make()
        var now = self.start
        while now < self.start + .milliseconds(500) {
            now += gap
            pacing.looked(jobs, at: now)
        }
        return (pacing, now)
    }

    @Test func aJobThatComesAloneIsReadAtOnce() {
        let (pacing, now) = self.pacing(jobs: 1, every: .milliseconds(10))
        #expect(pacing.pause(at: now) == .zero)
    }

    @Test func theFirstReadWaitsForNothing() {
        #expect(Self.make().pause(at: self.start) == .zero)
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
            pacing.looked(1, at: now)
        }
        #expect(pacing.pause(at: now) == .zero)
    }
}
