package import Contract

/// Times and numbers for people.
package enum Wording {
    /// UTC, `2026-01-31 12:00:00`.
    package static func time(_ time: Timestamp) -> String {
        let civil = CivilTime(time)
        return "\(civil.date) \(civil.clock)"
    }

    /// As a machine reads it (HTML Standard, 2.3.5.7).
    package static func machineTime(_ time: Timestamp) -> String {
        let civil = CivilTime(time)
        return "\(civil.date)T\(civil.clock)Z"
    }

    /// UTC, `2026-01-31`.
    package static func day(_ time: Timestamp) -> String { CivilTime(time).date }

    /// UTC, `12:00:00`.
    package static func clock(_ time: Timestamp) -> String { CivilTime(time).clock }

    /// `5 min ago`, `in 3 h`.
    package static func distance(of time: Timestamp, from now: Timestamp) -> String {
        let seconds = (time.milliseconds - now.milliseconds) / 1_000
        let amount = self.span(seconds: seconds.magnitude)
        if amount.isEmpty { return "now" }
        return seconds < 0 ? "\(amount) ago" : "in \(amount)"
    }

    /// `30 days`, `72 h`, `60 s`: the largest unit that divides it.
    package static func span(_ time: Duration) -> String {
        let seconds = time.components.seconds
        // Up to a week, hours are what people say.
        if seconds % 86_400 == 0, seconds >= 4 * 86_400 { return "\(seconds / 86_400) days" }
        if seconds % 3_600 == 0, seconds > 0 { return "\(seconds / 3_600) h" }
        return seconds % 60 == 0 && seconds >= 600 ? "\(seconds / 60) min" : "\(seconds) s"
    }

    /// In the largest unit that fits; empty for less than a second.
    private static func span(seconds: UInt64) -> String {
        switch seconds {
        case 0: ""
        case ..<60: "\(seconds) s"
        case ..<3_600: "\(seconds / 60) min"
        case ..<(2 * 86_400): "\(seconds / 3_600) h"
        default: "\(seconds / 86_400) days"
        }
    }

    /// The time between two steps: `+0.9 s`, `+5 min`.
    package static func step(from start: Timestamp, to end: Timestamp) -> String {
        let milliseconds = max(0, end.milliseconds - start.milliseconds)
        if milliseconds < 10_000 { return "+\(milliseconds / 1_000).\(milliseconds / 100 % 10) s" }
        return "+" + self.span(seconds: UInt64(milliseconds / 1_000))
    }

    /// `12,345`.
    package static func count(_ value: Int64) -> String {
        let digits = Array(String(value.magnitude))
        var text = value < 0 ? "-" : ""
        for (place, digit) in digits.enumerated() {
            if place > 0, (digits.count - place).isMultiple(of: 3) { text.append(",") }
            text.append(digit)
        }
        return text
    }

    /// `117.7 MiB`.
    package static func bytes(_ value: Int64) -> String {
        let units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]
        var unit = 0
        // In tenths, so that rounding down never makes 1024.0 of a unit.
        var tenths = Double(value) * 10
        while tenths >= 10_240, unit < units.count - 1 {
            tenths /= 1_024
            unit += 1
        }
        return unit == 0 ? "\(value) B" : "\(Int(tenths) / 10).\(Int(tenths) % 10) \(units[unit])"
    }
}
