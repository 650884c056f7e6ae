import Contract
import Glibc

/// Time of day here, or the date for what is older than a day.
func clock(_ time: Timestamp) -> String {
    let clock = timeOfDay(time)
    guard Glibc.time(nil) - Int(time.milliseconds / 1_000) > 86_400 else { return clock }
    return "\(day(time)) \(clock)"
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
