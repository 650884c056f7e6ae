package import Contract

/// How often something may be done now, and how much of it at once.
package struct Allowance: Hashable, Sendable {
    /// Milliseconds that one use takes.
    package let step: Double
    /// Milliseconds that may be used ahead of time.
    package let ahead: Double

    /// - Parameters:
    ///   - perMinute: above 0; need not be whole.
    ///   - burst: uses at once; one is always allowed. `nil`: a minute's worth.
    package init(perMinute: Double, burst: Double? = nil) {
        self.step = Pace.minute / perMinute
        self.ahead = self.step * max(1, burst ?? perMinute)
    }
}

/// The rates of this cluster: the defaults of `Rates`, as its operators have changed and scaled them.
package struct RateTable: Sendable {
    /// A rate in place of a default.
    package struct Change: Hashable, Sendable {
        /// Within the rate's period.
        package var uses: Int
        package var burst: Int

        package init(uses: Int, burst: Int) {
            self.uses = uses
            self.burst = burst
        }
    }

    package let scale: Double
    private let changes: [String: Change]

    /// - Parameters:
    ///   - scale: multiplies every rate, changed or not.
    ///   - changes: by `Rate.action`.
    package init(scale: Double = 1, changes: [String: Change] = [:]) {
        self.scale = scale
        self.changes = changes
    }

    package func allowance(of rate: Rate) -> Allowance {
        self.allowance(of: rate, as: self.changes[rate.action] ?? Change(uses: rate.uses, burst: rate.burst))
    }

    /// The same for a class that has another rate than everybody.
    package func allowance(of rate: Rate, as change: Change) -> Allowance {
        Allowance(
            perMinute: Double(change.uses) / rate.period.minutes * self.scale, burst: Double(change.burst) * self.scale)
    }
}
