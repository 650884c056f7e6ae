package import Contract

/// How much of a rate one subject has used, in a single number: the time at which the whole minute would be unused again
/// (the generic cell rate algorithm). A burst may take the whole minute's worth at once.
package struct Pace: Hashable, Sendable {
    /// Milliseconds since 1970. In the past: nothing is used.
    package private(set) var restedAt: Double

    package static let minute = 60_000.0

    package init(restedAt: Double = 0) { self.restedAt = restedAt }

    /// Milliseconds until the next use is allowed; `nil` if it is now.
    package mutating func wait(_ allowance: Allowance, at now: Timestamp) -> Int64? {
        let now = Double(now.milliseconds)
        // Later than that, it was counted by a clock that was ahead: worth all that the rate can hold, and not hours of it.
        self.restedAt = min(max(self.restedAt, now), now + allowance.ahead)
        let excess = self.restedAt + allowance.step - now - allowance.ahead
        // Steps that are no whole milliseconds leave crumbs.
        return excess < 1 ? nil : Int64(excess.rounded(.up))
    }

    /// Counts one use if it is allowed now.
    /// - Returns: `nil` if it is, else the milliseconds until the next one is.
    package mutating func admit(_ allowance: Allowance, at now: Timestamp) -> Int64? {
        if let wait = self.wait(allowance, at: now) { return wait }
        self.restedAt += allowance.step
        return nil
    }

    /// A use that was counted did not take place.
    package mutating func giveBack(_ allowance: Allowance) { self.restedAt -= allowance.step }

    package func isRested(at now: Timestamp) -> Bool { self.restedAt <= Double(now.milliseconds) }
}
