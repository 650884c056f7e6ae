import Foundation

/// The children of each process, read from /proc at one moment.
struct ProcessTable {
    private var children: [pid_t: [pid_t]] = [:]

    init() {
        let entries = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
        for pid in entries.compactMap({ pid_t($0) }) {
            guard let stat = ProcessStat(pid) else { continue }
            self.children[stat.parent, default: []].append(pid)
        }
    }

    /// Children, their children, and so on.
    func descendants(of pid: pid_t) -> [pid_t] {
        (self.children[pid] ?? []).flatMap { [$0] + self.descendants(of: $0) }
    }
}

/// The fields of /proc/PID/stat that matter here (proc(5)).
struct ProcessStat {
    /// The first 15 bytes of the program's name.
    var name: Substring
    var parent: pid_t
    /// Whether it has ended and only waits to be asked for its status.
    var isZombie: Bool
    /// By a signal.
    var isStopped: Bool
    /// User and system time of the process itself, in clock ticks.
    var ticks: Int
    /// The same of its children that have ended and been waited for.
    var endedChildrenTicks: Int

    init?(_ pid: pid_t) {
        guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8),
            let start = text.firstIndex(of: "("), let end = text.lastIndex(of: ")")
        else { return nil }
        self.name = text[text.index(after: start)..<end]
        // The second field, the name, may hold anything; counting starts behind it, with the third.
        let fields = text[text.index(after: end)...].split(separator: " ").map { Int($0) ?? 0 }
        guard fields.count > 14 else { return nil }
        self.parent = pid_t(fields[1])
        let state = text[end...].dropFirst(2).first
        self.isZombie = state == "Z"
        self.isStopped = state == "T"
        self.ticks = fields[11] + fields[12]
        self.endedChildrenTicks = fields[13] + fields[14]
    }

    func isAlive(as name: String) -> Bool { !self.isZombie && self.name == name }
}
