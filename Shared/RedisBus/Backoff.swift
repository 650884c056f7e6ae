/// How long to wait before the next attempt to connect.
struct Backoff {
    private var ceiling = RedisLimits.backoffMin

    /// After a success the next failure starts small again.
    mutating func reset() {
        self.ceiling = RedisLimits.backoffMin
    }

    /// The next wait: somewhere between half the ceiling and the ceiling, so that a hundred processes that lost
    /// the same server do not come back in step.
    mutating func next(using random: inout some RandomNumberGenerator) -> Duration {
        defer { self.ceiling = min(self.ceiling * 2, RedisLimits.backoffMax) }
        return self.ceiling * Double.random(in: 0.5...1, using: &random)
    }
}
