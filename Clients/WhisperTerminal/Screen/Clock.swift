import Contract
import Glibc

/// Time of day here, with the date for what is not of today.
func clock(_ time: Timestamp) -> String {
    let now = Timestamp(milliseconds: Int64(Glibc.time(nil)) * 1_000)
    return day(time) == day(now) ? timeOfDay(time) : "\(day(time)) \(timeOfDay(time))"
}

func timeOfDay(_ time: Timestamp) -> String {
    let parts = local(time)
    return "\(two(parts.tm_hour)):\(two(parts.tm_min))"
}

/// The date here.
func day(_ time: Timestamp) -> String {
    let parts = local(time)
    return "\(parts.tm_year + 1_900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
}

private func local(_ time: Timestamp) -> tm {
    var seconds = time_t(time.milliseconds / 1_000)
    var parts = tm()
    localtime_r(&seconds, &parts)
    return parts
}

private func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
