/// Growing delays with jitter: half of each is certain, half is drawn, so that clients that lost the same server
/// do not come back at the same moment.
package struct Backoff: Sendable {
    package let first: Duration
    package let longest: Duration

    package init(first: Duration, longest: Duration) {
        self.first = first
        self.longest = longest
    }

    /// - Parameter failures: how many attempts failed so far, at least one.
    package func delay(after failures: Int, using random: inout some RandomNumberGenerator) -> Duration {
        let grown = self.first * (1 << min(max(failures, 1) - 1, 20))
        let whole = min(grown, self.longest)
        return whole / 2 + whole / 2 * Double.random(in: 0...1, using: &random)
    }
}
