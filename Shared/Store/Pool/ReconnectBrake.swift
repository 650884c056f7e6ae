/// Decides whether a server that is away is tried again now. Holds no clock.
struct ReconnectBrake {
    private var failures = 0
    private var nextAttempt: ContinuousClock.Instant?
    /// Somebody tries just now, after a failure: the server may be back.
    private(set) var isTrying = false

    /// Whether to try now. While the server is away one caller per pause gets a yes.
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

    mutating func succeeded() { self = ReconnectBrake() }

    /// Doubles with each failure.
    private var pause: Duration {
        let doublings = min(self.failures - 1, 16)
        return min(StoreLimits.reconnectPauseMin * (1 << doublings), StoreLimits.reconnectPauseMax)
    }
}
