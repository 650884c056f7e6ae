import Contract

/// Decides whether to try a server again that is away: one attempt per pause, with exponential back-off. Holds no clock.
struct ReconnectLimiter {
    private var failures = 0
    private var nextAttempt: ContinuousClock.Instant?
    /// An attempt after a failure is under way, so the server may be back.
    private(set) var isTrying = false

    /// Whether to try now. While the server is away, one caller per pause may.
    mutating func admits(at now: ContinuousClock.Instant) -> Bool {
        guard let nextAttempt else { return true }
        guard now >= nextAttempt else { return false }
        self.nextAttempt = now + self.pause
        self.isTrying = true
        return true
    }

    mutating func failed(at now: ContinuousClock.Instant) {
        self.failures += 1
        self.isTrying = false
        self.nextAttempt = now + self.pause
    }

    mutating func succeeded() { self = ReconnectLimiter() }

    private var pause: Duration { StoreLimits.reconnect.pause(after: self.failures) }
}
