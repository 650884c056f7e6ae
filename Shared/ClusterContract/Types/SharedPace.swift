package import Contract

/// A process's request to the count that all processes share: some uses of one subject's rate, ahead of need.
package struct RateRequest: Hashable, Sendable {
    package var allowance: Allowance
    /// Uses wanted. 0: only tells what the process knows.
    package var uses: Int
    /// Milliseconds until the subject is at rest, as the last answer said. Counts only if the record is another one by now:
    /// the one that the process knew was lost.
    package var known: Double
    /// The record that the last answer named; 0 if there was none.
    package var record: UInt64
    /// Milliseconds of uses that the process has allowed by itself while the shared count was away. Below 0: of counted uses that did not
    /// take place.
    package var uncounted: Double

    package init(_ allowance: Allowance, uses: Int, known: Double = 0, record: UInt64 = 0, uncounted: Double = 0) {
        self.allowance = allowance
        self.uses = uses
        self.known = known
        self.record = record
        self.uncounted = uncounted
    }
}

package struct RateGrant: Hashable, Sendable {
    /// Uses that the process may give out. They are counted.
    package var uses: Int
    /// Milliseconds until one more would be granted; 0 if it would be now.
    package var wait: Int64
    /// Milliseconds until the subject is at rest.
    package var rest: Double
    /// Names the record that counts. A later answer with another number: this one was lost, or had come to rest.
    package var record: UInt64

    package init(uses: Int, wait: Int64, rest: Double, record: UInt64) {
        self.uses = uses
        self.wait = wait
        self.rest = rest
        self.record = record
    }
}

/// The count that all processes share, of one rate of one subject. It counts as `Pace` does, in chunks. In Redis it is text
/// under a `ratelimit:` key, and a script counts. This type does what the script does, for buses in memory.
package struct SharedPace: Hashable, Sendable {
    /// Milliseconds since 1970, as in `Pace`.
    package private(set) var restedAt: Double
    /// Microseconds since 1970 at which this count began; 0: not known.
    private var record: UInt64
    /// Processes have restored an older record up to here, in milliseconds since 1970.
    private var restoredUntil: Double

    /// No pace is rested later. Text may name any number, infinity too, and waits are integers.
    private static let restedAtMax = 9_007_199_254_740_992.0

    package init() { (self.restedAt, self.record, self.restoredUntil) = (0, 0, 0) }

    /// Counts one use if it is allowed now, for whoever takes them one by one.
    /// - Returns: `nil` if it is, else the milliseconds until the next one is.
    package mutating func admit(_ allowance: Allowance, at now: Timestamp) -> Int64? {
        var pace = Pace(restedAt: self.restedAt)
        defer { self.restedAt = pace.restedAt }
        return pace.admit(allowance, at: now)
    }

    /// - Parameter newRecord: microseconds since 1970, about `now`: names this count if nobody has leased from it before.
    package mutating func grant(_ request: RateRequest, at now: Timestamp, newRecord: UInt64) -> RateGrant {
        let (step, now) = (request.allowance.step, Double(now.milliseconds))
        let end = now + request.allowance.ahead
        if self.record == 0 { self.record = newRecord }
        self.restedAt = max(self.restedAt, now) + request.uncounted
        if request.record != self.record, request.known > 0 {
            // Several processes may have known the lost record. The largest value is right; newer uses are added to it.
            let known = now + request.known
            self.restedAt += max(0, known - max(self.restoredUntil, Double(self.record) / 1_000))
            self.restoredUntil = max(self.restoredUntil, known)
        }
        self.restedAt = min(self.restedAt, end)
        // Steps that are no whole milliseconds leave crumbs.
        let room = ((end - self.restedAt + 1) / step).rounded(.up) - 1
        let uses = max(0, min(Double(request.uses), room))
        self.restedAt += uses * step
        let excess = self.restedAt + step - end
        return RateGrant(
            uses: Int(uses), wait: excess < 1 ? 0 : Int64(excess.rounded(.up)), rest: self.restedAt - now,
            record: self.record)
    }
}

extension SharedPace {
    /// As it stands under a `ratelimit:` key.
    package var text: [UInt8] {
        let text = "\(self.restedAt)"
        return Array((self.record == 0 ? text : "\(text):\(self.record):\(self.restoredUntil)").utf8)
    }

    package init?(text: [UInt8]) {
        let parts = String(decoding: text, as: UTF8.self).split(separator: ":", omittingEmptySubsequences: false)
        func time(_ text: Substring) -> Double? {
            Double(text).flatMap { (0...Self.restedAtMax).contains($0) ? $0 : nil }
        }
        guard let restedAt = time(parts[0]) else { return nil }
        self.init()
        self.restedAt = restedAt
        guard parts.count > 1 else { return }
        guard parts.count == 3, let record = UInt64(parts[1]), let restoredUntil = time(parts[2]) else { return nil }
        (self.record, self.restoredUntil) = (record, restoredUntil)
    }
}
