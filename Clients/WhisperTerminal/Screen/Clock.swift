import Contract
import Glibc

/// Time of day here, or the date for what is older than a day.
func clock(_ time: Timestamp) -> String {
    var seconds = time_t(time.milliseconds / 1_000)
    var parts = tm()
    localtime_r(&seconds, &parts)
    func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
    let clock = "\(two(parts.tm_hour)):\(two(parts.tm_min))"
    guard Glibc.time(nil) - seconds > 86_400 else { return clock }
    return "\(parts.tm_year + 1_900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday)) \(clock)"
}
