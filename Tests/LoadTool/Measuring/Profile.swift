import LocalStack

/// Watches where a process spends its time, with perf(1).
struct Profile: Sendable {
    var seconds: Int
    /// As in the tables: `gateway-1`, `postgres`.
    var process: String

    private static let functions = 25
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
            perf record -q -g -F \(Self.frequency) -p \(pids) -o perf.data -- sleep \(self.seconds) >/dev/null 2>&1
            perf report -i perf.data --stdio --no-children -g none --sort symbol 2>/dev/null \
              | { if command -v swift >/dev/null; then swift demangle --simplified; else cat; fi; } \
              | grep '%' | head -\(Self.functions) | cut -c 1-150
            """
        let lines = try await Command("/bin/sh", ["-c", script], folder: folder.path).output(name: "perf")
        return "\(self.process), \(self.seconds) s of it:\n\(lines)"
    }
}
