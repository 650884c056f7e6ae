/// How much of a rate one subject has used, in a single number: the time at which the whole minute would be unused again
/// (the generic cell rate algorithm). A burst may take the whole minute's worth at once.
package struct Pace: Hashable, Sendable {
    /// Milliseconds since 1970. In the past: nothing is used.
    package private(set) var restedAt: Double

    package static let minute = 60_000.0
    /// No pace is rested later. Text may name any number, infinity too, and waits are integers.
    private static let restedAtMax = 9_007_199_254_740_992.0

    package init(restedAt: Double = 0) { self.restedAt = restedAt }

    /// Counts one use if it is allowed now.
    /// - Returns: `nil` if it is, else the milliseconds until the next one is.
    package mutating func admit(_ allowance: Allowance, at now: Timestamp) -> Int64? {
        let now = Double(now.milliseconds)
        // Later than that, it was counted by a clock that was ahead: worth all that the rate can hold, and not hours of it.
        self.restedAt = min(max(self.restedAt, now), now + allowance.ahead)
        let excess = self.restedAt + allowance.step - now - allowance.ahead
        // Steps that are no whole milliseconds leave crumbs.
        guard excess < 1 else { return Int64(excess.rounded(.up)) }
        self.restedAt += allowance.step
        return nil
    }

    package func isRested(at now: Timestamp) -> Bool { self.restedAt <= Double(now.milliseconds) }

    /// Two records of the same subject: the fuller one counts.
    package mutating func merge(_ other: Pace) { self.restedAt = max(self.restedAt, other.restedAt) }
}

extension Pace {
    /// As it stands under a `ratelimit:` key: whole milliseconds.
    package var text: [UInt8] { Array(String(Int64(self.restedAt.rounded(.up))).utf8) }

    package init?(text: [UInt8]) {
        guard let milliseconds = Double(String(decoding: text, as: UTF8.self)), (0...Self.restedAtMax).contains(milliseconds)
        else { return nil }
        self.init(restedAt: milliseconds)
    }
}
