package import Contract

/// Times and numbers for people.
package enum Wording {
    /// UTC, `2026-01-31 12:00:00`.
    package static func time(_ time: Timestamp) -> String {
        let (day, clock) = self.dayAndClock(time)
        return "\(day) \(clock)"
    }

    /// As a machine reads it (HTML Standard, 2.3.5.7).
    package static func machineTime(_ time: Timestamp) -> String {
        let (day, clock) = self.dayAndClock(time)
        return "\(day)T\(clock)Z"
    }

    /// UTC, `12:00:00`.
    package static func clock(_ time: Timestamp) -> String { self.dayAndClock(time).clock }

    private static func dayAndClock(_ time: Timestamp) -> (day: String, clock: String) {
        let seconds = time.milliseconds.floored(by: 1_000)
        let days = seconds.quotient.floored(by: 86_400)
        let (year, month, day) = self.date(days.quotient)
        let rest = days.remainder
        return (
            "\(year)-\(self.two(month))-\(self.two(day))",
            "\(self.two(rest / 3_600)):\(self.two(rest / 60 % 60)):\(self.two(rest % 60))"
        )
    }

    private static func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }

    /// The Gregorian date of a day counted from 1970-01-01.
    ///
    /// Years begin in March, so that the leap day is their last. A cycle of 400 years has 146,097 days.
    private static func date(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let marchDay = (day + 719_468).floored(by: 146_097)
        let inCycle = marchDay.remainder
        let yearOfCycle = (inCycle - inCycle / 1_460 + inCycle / 36_524 - inCycle / 146_096) / 365
        let dayOfYear = inCycle - (365 * yearOfCycle + yearOfCycle / 4 - yearOfCycle / 100)
        let month = (5 * dayOfYear + 2) / 153
        let isNextYear = month >= 10
        return (
            marchDay.quotient * 400 + yearOfCycle + (isNextYear ? 1 : 0), isNextYear ? month - 9 : month + 3,
            dayOfYear - (153 * month + 2) / 5 + 1
        )
    }

    /// `5 min ago`, `in 3 h`.
    package static func distance(of time: Timestamp, from now: Timestamp) -> String {
        let seconds = (time.milliseconds - now.milliseconds) / 1_000
        let amount = self.span(seconds: seconds.magnitude)
        if amount.isEmpty { return "now" }
        return seconds < 0 ? "\(amount) ago" : "in \(amount)"
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

extension Int64 {
    /// Division that rounds down, also below zero.
    fileprivate func floored(by divisor: Int64) -> (quotient: Int64, remainder: Int64) {
        let (quotient, remainder) = self.quotientAndRemainder(dividingBy: divisor)
        return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
    }
}
