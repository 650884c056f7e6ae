/// Allows `rate` events a second on average and `burst` at once. Eight bytes; time is an argument.
package struct TokenBucket: Equatable, Sendable {
    private var tokens: Float
    /// Milliseconds of the caller's clock, wrapped: only differences count.
    private var updatedAt: UInt32

    package struct Rule: Equatable, Sendable {
        package var perSecond: Float
        package var burst: Float

        package init(perSecond: Double, burst: Double) {
            self.perSecond = Float(perSecond)
            self.burst = Float(burst)
        }

        /// However small the scale, one event fits: a burst below one would refuse everything for ever.
        package func scaled(by scale: Double) -> Rule {
            Rule(perSecond: Double(self.perSecond) * scale, burst: max(1, Double(self.burst) * scale))
        }
    }

    /// The longest wait that is named, in milliseconds: a rate of next to nothing would name one beyond every integer.
    private static let waitMax: Float = 3_600_000

    package init(_ rule: Rule, at now: Int64) {
        self.tokens = rule.burst
        self.updatedAt = UInt32(truncatingIfNeeded: now)
    }

    /// Takes one token.
    /// - Returns: `nil` if there was one, else the milliseconds until there is.
    package mutating func take(_ rule: Rule, at now: Int64) -> Int64? {
        let now = UInt32(truncatingIfNeeded: now)
        let elapsed = Float(now &- self.updatedAt)
        self.updatedAt = now
        self.tokens = min(rule.burst, self.tokens + elapsed * rule.perSecond / 1_000)
        guard self.tokens < 1 else {
            self.tokens -= 1
            return nil
        }
        let wait = ((1 - self.tokens) * 1_000 / rule.perSecond).rounded(.up)
        return max(1, Int64(min(wait, Self.waitMax)))
    }

    /// Nothing is lost by forgetting this bucket.
    package func isFull(_ rule: Rule, at now: Int64) -> Bool {
        let elapsed = Float(UInt32(truncatingIfNeeded: now) &- self.updatedAt)
        return self.tokens + elapsed * rule.perSecond / 1_000 >= rule.burst
    }
}
