import Foundation

/// CPU time of the whole machine since its start, in microseconds (proc(5), /proc/stat).
struct MachineTime {
    /// Spent on anything.
    var busy = 0.0
    /// Wanted, and given to other machines by the hypervisor.
    var stolen = 0.0

    init() {
        let text = (try? String(contentsOfFile: "/proc/stat", encoding: .utf8)) ?? ""
        let fields = (text.split(separator: "\n").first ?? "").split(separator: " ").dropFirst().map { Double($0) ?? 0 }
        // user nice system idle iowait irq softirq steal
        guard fields.count >= 8 else { return }
        let microsecondsPerTick = 1_000_000 / Double(sysconf(Int32(_SC_CLK_TCK)))
        self.busy = (fields[0] + fields[1] + fields[2] + fields[5] + fields[6]) * microsecondsPerTick
        self.stolen = fields[7] * microsecondsPerTick
    }
}
