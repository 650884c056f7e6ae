import Foundation
import LocalStack

/// Watches where a process spends its time, with perf(1).
struct ProcessProfile: Sendable {
    var seconds: Int
    /// As in the tables: `gateway-1`, `postgres`.
    var process: String

    private static let functionsMax = 25
    /// Samples per second. Not a round number, so as not to march in step with timers.
    private static let frequency = 499

    /// - Returns: the functions in which most time was spent, the most expensive first.
    /// - Throws: `LoadError.noSuchProcess`, or what perf says.
    func record(_ stack: LocalStack) async throws -> String {
        guard let usage = await stack.usage().first(where: { $0.process.description == self.process }) else {
            throw LoadError.noSuchProcess(self.process)
        }
        let folder = try TemporaryFolder(named: "profile")
        defer { folder.remove() }
        let pids = usage.pids.map(String.init).joined(separator: ",")
        let script = """
            perf record -q -g -F \(Self.frequency) -p \(pids) -o perf.data -- sleep \(self.seconds) >/dev/null || exit 1
            perf report -i perf.data --stdio --no-children -g none --sort dso,symbol -t '|' 2>/dev/null \
              | { if command -v swift >/dev/null; then swift demangle --simplified; else cat; fi; }
            """
        let report = try await Command("/bin/sh", ["-c", script], folder: folder.path).output(name: "perf")
        return "\(self.process), \(self.seconds) s of it:\n" + Self.mostExpensive(in: report).joined(separator: "\n")
    }

    /// Libraries without symbols are one line each, not one for every address.
    private static func mostExpensive(in report: String) -> [String] {
        var shares: [String: Double] = [:]
        for line in report.split(separator: "\n") where !line.hasPrefix("#") {
            let fields = line.split(separator: "|", maxSplits: 2).map { $0.trimmingCharacters(in: .whitespaces) }
            guard fields.count == 3, fields[0].hasSuffix("%"), let share = Double(fields[0].dropLast()) else {
                continue
            }
            let isNamed = !fields[2].contains("0x0000")
            shares["\(fields[1].prefix(24)): \(isNamed ? fields[2].prefix(120) : "(no symbols)")", default: 0] += share
        }
        return shares.sorted { $0.value > $1.value }.prefix(Self.functionsMax).map {
            String(format: "%6.2f %%  ", $0.value) + $0.key
        }
    }
}
