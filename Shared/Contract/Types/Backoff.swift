/// Pauses that double with each failure, up to a bound.
package struct Backoff: Sendable {
    package let first: Duration
    package let longest: Duration

    package init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
    }

    /// - Parameter failures: how many attempts failed so far, at least one.
    package func pause(after failures: Int) -> Duration {
        min(self.first * (1 << min(max(failures, 1) - 1, 20)), self.longest)
    }

    /// Half of the pause is certain, half is drawn: who lost the same server does not come back at the same moment.
    package func delay(after failures: Int, using random: inout some RandomNumberGenerator) -> Duration {
        let whole = self.pause(after: failures)
        return whole / 2 + whole / 2 * Double.random(in: 0...1, using: &random)
    }
}
