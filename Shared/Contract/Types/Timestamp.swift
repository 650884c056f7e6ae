#if canImport(Glibc)
import Glibc
#else
import Darwin
#endif

/// Milliseconds since 1970 (contract §2, TS).
package struct Timestamp: Hashable, Comparable, Sendable {
    package let milliseconds: Int64

    package init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The wall clock.
    package static var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1_000 + Int64(time.tv_nsec) / 1_000_000)
    }

    package static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }
    // Times of others are added here. A result that overflows becomes the last or the first time there is.
    package static func + (a: Timestamp, b: Duration) -> Timestamp {
        let (sum, overflow) = a.milliseconds.addingReportingOverflow(b.milliseconds)
        return Timestamp(milliseconds: overflow ? (b < .zero ? .min : .max) : sum)
    }
    package static func - (a: Timestamp, b: Duration) -> Timestamp {
        let (difference, overflow) = a.milliseconds.subtractingReportingOverflow(b.milliseconds)
        return Timestamp(milliseconds: overflow ? (b < .zero ? .max : .min) : difference)
    }
    /// How long after the other time this one is.
    package static func - (a: Timestamp, b: Timestamp) -> Duration {
        .milliseconds(a.milliseconds) - .milliseconds(b.milliseconds)
    }

    /// Whether a signed frame of this time is taken at `now` (contract §3.8).
    package func isWithinSkew(of now: Timestamp) -> Bool {
        let (distance, overflow) = self.milliseconds.subtractingReportingOverflow(now.milliseconds)
        return !overflow && distance.magnitude <= Limits.timestampSkewMilliseconds
    }

    /// Whether no clock that a server takes can have shown this time yet.
    package func isAhead(of now: Timestamp) -> Bool { self > now && !self.isWithinSkew(of: now) }
}
