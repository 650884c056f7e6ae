/// When a loop looks again at what arrives: at once while little comes, a moment later while more comes anyway.
///
/// Each look pays for its wake-ups and for what follows from it, whatever it finds. So a look waits only if the recent rate says that
/// several things come within the wait: what comes alone is looked at once.
package struct ArrivalPacing: Sendable {
    /// From one look to the next.
    private let interval: Duration
    private let worthWaiting: Double
    private let window: Double
    /// Arrivals a millisecond, at the last looks.
    private var rate = 0.0
    private var lookedAt: ContinuousClock.Instant?

    /// - Parameters:
    ///   - worthWaiting: arrivals expected within `interval` for which a look waits.
    ///   - window: over how long the rate is measured.
    package init(interval: Duration, worthWaiting: Double, window: Duration) {
        self.interval = interval
        self.worthWaiting = worthWaiting
        self.window = window / .milliseconds(1)
    }

    /// - Parameter arrivals: that a look has found.
    package mutating func looked(_ arrivals: Int, at now: ContinuousClock.Instant) {
        let elapsed = self.lookedAt.map { $0.duration(to: now) / .milliseconds(1) } ?? 0
        self.lookedAt = now
        // The mean of a window that forgets evenly: at a steady rate exactly this rate.
        self.rate = (self.rate * self.window + Double(arrivals)) / (self.window + max(0, elapsed))
    }

    /// Arrivals within one interval, as the recent rate says.
    package var expected: Double { self.rate * (self.interval / .milliseconds(1)) }

    package var isWorthWaiting: Bool { self.expected >= self.worthWaiting }

    /// How long the next look has to wait.
    package func pause(at now: ContinuousClock.Instant) -> Duration {
        guard let lookedAt, self.isWorthWaiting else { return .zero }
        return max(.zero, now.duration(to: lookedAt + self.interval))
    }
}
