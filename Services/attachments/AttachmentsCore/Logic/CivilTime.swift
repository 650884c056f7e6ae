package import Contract

/// A time as date and clock of UTC (proleptic Gregorian calendar).
package struct CivilTime: Equatable, Sendable {
    package let year, month, day, hour, minute, second: Int

    package init(_ time: Timestamp) {
        let seconds = Self.floor(time.milliseconds, by: 1_000)
        let days = Self.floor(seconds, by: 86_400)
        let rest = Int(seconds - days * 86_400)
        (self.hour, self.minute, self.second) = (rest / 3_600, rest / 60 % 60, rest % 60)
        // Years from March on, so that the leap day is the last of its year; 400 of them repeat.
        let shifted = days + 719_468
        let era = Self.floor(shifted, by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        self.day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
        self.month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
        self.year = Int(yearOfEra + era * 400) + (self.month <= 2 ? 1 : 0)
    }

    /// `YYYYMMDD`.
    package var date: String { "\(self.year)" + Self.twoDigits(self.month) + Self.twoDigits(self.day) }

    /// `YYYYMMDDTHHMMSSZ`, the basic format of ISO 8601.
    package var basic: String {
        self.date + "T" + Self.twoDigits(self.hour) + Self.twoDigits(self.minute) + Self.twoDigits(self.second) + "Z"
    }

    package static func twoDigits(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }

    /// Seconds since 1970 of a date and time as S3 writes them: `2026-01-31T12:00:00.000Z`.
    package static func seconds(of text: String) -> Int64? {
        let fields = text.split { !$0.isNumber }.compactMap { Int64($0) }
        guard fields.count >= 6, (1...12).contains(fields[1]), (1...31).contains(fields[2]) else { return nil }
        let year = fields[1] <= 2 ? fields[0] - 1 : fields[0]
        let era = Self.floor(year, by: 400)
        let yearOfEra = year - era * 400
        let monthFromMarch = fields[1] > 2 ? fields[1] - 3 : fields[1] + 9
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + fields[2] - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        return days * 86_400 + fields[3] * 3_600 + fields[4] * 60 + fields[5]
    }

    private static func floor(_ value: Int64, by divisor: Int64) -> Int64 {
        value >= 0 ? value / divisor : (value - divisor + 1) / divisor
    }
}
