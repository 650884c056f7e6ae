import ArgumentParser
import Contract
import Foundation
import LocalStack

/// `make bench`: what the cluster costs and how fast it is, measured from outside with real processes.
@main
struct LoadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "whisper-load", abstract: "Measures the cluster: CPU per message, latency, memory per connection.",
        version: Release.line("whisper-load"),
        subcommands: [MeasureCommand.self, PlotCommand.self, CrowdCommand.self, CoreCommand.self],
        defaultSubcommand: MeasureCommand.self)
}

struct MeasureCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "measure", abstract: "Runs workloads, one after the other, each on a cluster of its own.",
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
            say("\(workload.rawValue): \(workload.title)")
            let report = try await workload.measure(self.options)
            say("\n\(report.text)\n")
            reports.append(report)
        }
        return reports
    }
}

/// Prints a line at once, whether a person or a file reads it.
func say(_ line: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
}
