/// A time as date and clock of UTC (proleptic Gregorian calendar).
///
/// Years are counted from March on, so that the leap day is the last of its year. 400 of them have 146,097 days.
package struct CivilTime: Equatable, Sendable {
    package let year, month, day, hour, minute, second: Int

    package init(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        (self.year, self.month, self.day) = (year, month, day)
        (self.hour, self.minute, self.second) = (hour, minute, second)
    }

    package init(_ time: Timestamp) {
        let seconds = Self.floor(Int(time.milliseconds), by: 1_000)
        let days = Self.floor(seconds, by: 86_400)
        let rest = seconds - days * 86_400
        let shifted = days + 719_468
        let era = Self.floor(shifted, by: 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        self.init(
            year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month: month,
            day: dayOfYear - (153 * monthFromMarch + 2) / 5 + 1,
            hour: rest / 3_600, minute: rest / 60 % 60, second: rest % 60)
    }

    /// Seconds since 1970. Days and seconds beyond the last count on into the next month and minute.
    package var seconds: Int64 {
        let year = self.month <= 2 ? self.year - 1 : self.year
        let era = Self.floor(year, by: 400)
        let yearOfEra = year - era * 400
        let monthFromMarch = self.month > 2 ? self.month - 3 : self.month + 9
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + self.day - 1
        let days = era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
        return Int64(days * 86_400 + self.hour * 3_600 + self.minute * 60 + self.second)
    }

    /// `2026-01-31`.
    package var date: String { "\(self.year)-\(Self.twoDigits(self.month))-\(Self.twoDigits(self.day))" }

    /// `12:00:00`.
    package var clock: String {
        "\(Self.twoDigits(self.hour)):\(Self.twoDigits(self.minute)):\(Self.twoDigits(self.second))"
    }

    /// `20260131`, of the basic format of ISO 8601.
    package var basicDate: String { "\(self.year)" + Self.twoDigits(self.month) + Self.twoDigits(self.day) }

    /// `20260131T120000Z`, the basic format of ISO 8601.
    package var basic: String {
        self.basicDate + "T" + Self.twoDigits(self.hour) + Self.twoDigits(self.minute) + Self.twoDigits(self.second)
            + "Z"
    }

    package static func twoDigits(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }

    private static func floor(_ value: Int, by divisor: Int) -> Int {
        value >= 0 ? value / divisor : (value - divisor + 1) / divisor
    }
}
