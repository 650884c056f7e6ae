import Glibc

/// A time of day for people: UTC, to the millisecond.
struct WallTime {
    let seconds: Int
    let milliseconds: Int

    static var now: WallTime {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return WallTime(seconds: now.tv_sec, milliseconds: now.tv_nsec / 1_000_000)
    }

    /// ISO 8601: `2026-01-31T12:00:00.123Z`.
    var text: String {
        var seconds = time_t(self.seconds)
        var parts = tm()
        gmtime_r(&seconds, &parts)
        func two(_ value: Int32) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let fraction = String(1_000 + self.milliseconds).dropFirst()
        return "\(1_900 + parts.tm_year)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
            + "T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec)).\(fraction)Z"
    }
}
