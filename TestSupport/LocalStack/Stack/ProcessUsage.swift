import Foundation
package import Glibc

/// CPU and memory of one process of the stack, with its children.
package struct ProcessUsage: Sendable {
    package var process: StackProcess
    /// The process itself first.
    package var pids: [pid_t]
    /// User and system time since its start, in steps of 10 ms. Children that have ended are counted.
    package var cpu: Duration
    /// Resident bytes. Memory shared by several processes (Postgres's buffers) is counted for each.
    package var residentBytes: Int
    /// Proportional bytes: what is shared is divided by those who share it. Sums make sense.
    package var proportionalBytes: Int

    /// - Parameter roots: several for what is a cluster of servers.
    init(_ process: StackProcess, roots: [pid_t], table: ProcessTable) {
        self.process = process
        self.pids = roots.flatMap { [$0] + table.descendants(of: $0) }
        self.residentBytes = 0
        self.proportionalBytes = 0
        for pid in self.pids {
            let memory = ProcessUsage.memory(of: pid)
            self.residentBytes += memory.resident
            self.proportionalBytes += memory.proportional
        }
        self.cpu = Self.cpu(of: self.pids)
    }

    /// User and system time of processes and of their children that have ended, in steps of 10 ms.
    static func cpu(of pids: [pid_t]) -> Duration {
        let ticks = pids.reduce(0) { sum, pid in
            ProcessStat(pid).map { sum + $0.ticks + $0.endedChildrenTicks } ?? sum
        }
        return .milliseconds(ticks * 1_000 / sysconf(Int32(_SC_CLK_TCK)))
    }

    /// From /proc/PID/smaps_rollup, in bytes.
    private static func memory(of pid: pid_t) -> (resident: Int, proportional: Int) {
        let text = (try? String(contentsOfFile: "/proc/\(pid)/smaps_rollup", encoding: .utf8)) ?? ""
        func bytes(_ field: String) -> Int {
            let line = text.split(separator: "\n").first { $0.hasPrefix(field) }
            return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }.map { $0 * 1_024 } ?? 0
        }
        return (bytes("Rss:"), bytes("Pss:"))
    }
}
