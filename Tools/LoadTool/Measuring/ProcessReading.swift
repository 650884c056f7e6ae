import Foundation

/// CPU, memory and waits of this process so far (proc(5), getrusage(2)).
struct ProcessReading {
    /// In microseconds.
    let cpu: Double
    let residentBytes: Double
    /// The most since `forgetPeak`.
    let peakBytes: Double
    /// How often its threads have waited for something.
    let switches: Double

    init() {
        var usage = rusage()
        getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
        self.cpu =
            Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1_000_000
            + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec)
        self.switches = Double(usage.ru_nvcsw)
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        func bytes(_ name: String) -> Double {
            let line = status.split(separator: "\n").first { $0.hasPrefix(name) }
            let kilobytes = line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Double($0) }
            return (kilobytes ?? 0) * 1_024
        }
        self.residentBytes = bytes("VmRSS:")
        self.peakBytes = bytes("VmHWM:")
    }

    /// The kernel counts the peak from here on.
    static func forgetPeak() {
        try? "5".write(toFile: "/proc/self/clear_refs", atomically: false, encoding: .utf8)
    }
}
