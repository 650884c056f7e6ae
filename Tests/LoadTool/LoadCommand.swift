import ArgumentParser
import Foundation
import LocalStack

/// `make bench`: what the cluster costs and how fast it is, measured from outside with real processes.
/// Runs each workload against a fresh cluster of its own, so that none inherits what another left behind.
@main
struct LoadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "whisper-load", abstract: "Measures the cluster: CPU per message, latency, memory per connection.",
        discussion: Workload.allCases.map { "  \($0.rawValue)  \($0.title)" }.joined(separator: "\n"))

    @OptionGroup var options: LoadOptions

    func run() async throws {
        // Bare, so that a signal can cancel it; it is waited for right below.
        let work = Task { try await self.measure() }
        let sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)  // the source hears it nevertheless
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { work.cancel() }
            source.resume()
            return source
        }
        defer { for source in sources { source.cancel() } }
        let reports = try await work.value
        if let file = self.options.json {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            try encoder.encode(reports).write(to: URL(fileURLWithPath: file))
        }
        guard reports.allSatisfy(\.isSound) else { throw ExitCode(1) }
    }

    private func measure() async throws -> [Report] {
        var reports: [Report] = []
        for workload in self.options.workloads {
            let report = try await self.measure(workload)
            say("\n\(report.text)\n")
            reports.append(report)
        }
        return reports
    }

    private func measure(_ workload: Workload) async throws -> Report {
        say("\(workload.rawValue): \(workload.title)")
        let stack = try await LocalStack.start(try self.options.stack(for: workload)) { say("· \($0)") }
        do {
            let fleet = Fleet(ports: self.options.ports(of: stack))
            let report = try await workload.measure(fleet, stack, self.options)
            await fleet.leave()
            await stack.stop()
            return report
        } catch {
            if self.options.keep { say("logs are in \(stack.folder)/log") }
            await stack.stop()
            throw error
        }
    }
}

/// Prints a line at once, whether a person or a file reads it.
func say(_ line: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
}
