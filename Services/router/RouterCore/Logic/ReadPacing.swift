/// When a router reads again: at once while few Jobs come, a few milliseconds later while more come anyway.
///
/// Each batch pays for its wake-ups, its round trip and its commit, whatever it holds. So a read waits only if the recent rate says that
/// several Jobs come within the wait: a Job that comes alone is read at once.
package struct ReadPacing {
    /// From one read to the next.
    private let interval: Duration
    /// Jobs a millisecond, of the last reads.
    private var rate = 0.0
    private var readAt: ContinuousClock.Instant?

    package init(interval: Duration = RouterLimits.readInterval) { self.interval = interval }

    /// - Parameter jobs: that a read has brought, of all partitions.
    package mutating func hasRead(jobs: Int, at now: ContinuousClock.Instant) {
        let elapsed = self.readAt.map { ($0.duration(to: now)) / .milliseconds(1) } ?? 0
        self.readAt = now
        let window = RouterLimits.readRateWindow / .milliseconds(1)
        // The mean of a window that forgets evenly: at a steady rate exactly this rate.
        self.rate = (self.rate * window + Double(jobs)) / (window + max(0, elapsed))
    }

    /// How long the next read has to wait.
    package func pause(at now: ContinuousClock.Instant) -> Duration {
        guard let readAt, self.rate * (self.interval / .milliseconds(1)) >= RouterLimits.readJobsWorthWaiting else { return .zero }
        return max(.zero, now.duration(to: readAt + self.interval))
    }
}
