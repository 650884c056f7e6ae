import ArgumentParser
import Chaos
import Contract
import Foundation
import LocalStack

/// `make chaos`: does a cluster keep its promises while everything it is made of fails?
@main
struct ChaosCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "whisper-chaos",
        abstract: "Mistreats a cluster under traffic and judges it by what its clients saw.",
        version: Release.line("whisper-chaos"))

    @Option(help: "What happens, and when. The same seed makes the same plan.")
    var seed: UInt64?
    @Option(help: "Faults, 1...1000.")
    var faults = 60
    @Option(help: "Clients, 2...1000.")
    var clients = 200
    @Option(help: "Gateways, 1...8.")
    var gateways = 2
    @Option(help: "Routers, 1...8.")
    var routers = 2
    @Option(help: "Live conversations, each with a whisperer and four listeners beside the clients, 0...40.")
    var lessons = 4
    @Option(help: "Rooms, each with two clients beside the others, 0...40.")
    var meetings = 2
    @Option(help: "Runs, one after the other, each with the next seed, 1...100.")
    var runs = 1
    @Option(
        help:
            "random: faults by the seed. clocks: some processes are ten years ahead, others behind. rolling: every service is restarted in order, and what clients notice is measured. masters: a Redis Cluster loses masters, beside other faults. failover: Postgres under Patroni loses its primary in every way."
    )
    var plan = Plan.random
    @Option(help: "Folder of the server executables; the one beside this program by default.")
    var programs: String?
    @Flag(help: "Of failover: commits wait for no standby and the primary is killed. The loss has to be found.")
    var asynchronous = false
    @Flag(help: "Only print the plan.")
    var dry = false
    @Flag(help: "Keep the data folder of each cluster, with its logs.")
    var keep = false
    @Option(help: "What services log: debug follows every message. Of use with --keep.")
    var logLevel: String?
    @Option(help: "Write all figures to this file, as JSON.")
    var json: String?

    enum Plan: String, ExpressibleByArgument, CaseIterable { case random, clocks, rolling, failover, masters }

    func validate() throws {
        func check(_ value: Int, _ range: ClosedRange<Int>, _ name: String) throws {
            guard range.contains(value) else { throw ValidationError("\(name) must be within \(range)") }
        }
        try check(self.faults, 1...1_000, "--faults")
        try check(self.clients, 2...1_000, "--clients")
        try check(self.gateways, 1...8, "--gateways")
        try check(self.routers, 1...8, "--routers")
        try check(self.lessons, 0...40, "--lessons")
        try check(self.meetings, 0...40, "--meetings")
        try check(self.runs, 1...100, "--runs")
    }

    func run() async throws {
        // Bare, so that a signal can cancel it; it is waited for right below.
        let work = Task { try await self.work() }
        let sources = [SIGINT, SIGTERM].map { number in
            signal(number, SIG_IGN)  // the source hears it nevertheless
            let source = DispatchSource.makeSignalSource(signal: number)
            source.setEventHandler { work.cancel() }
            source.resume()
            return source
        }
        defer { for source in sources { source.cancel() } }
        guard try await work.value else { throw ExitCode(1) }
    }

    /// - Returns: whether every promise was kept.
    private func work() async throws -> Bool {
        switch self.plan {
        case .random, .clocks, .masters: try await self.mistreat()
        case .rolling: try await self.roll()
        case .failover: try await self.failOver()
        }
    }

    private func mistreat() async throws -> Bool {
        let first = self.seed ?? UInt64.random(in: 1...999_999)
        var reports: [ChaosReport] = []
        for run in 0..<UInt64(self.runs) {
            let options = self.options(seed: first &+ run)
            guard !self.dry else {
                say(ChaosRun.plan(of: options).steps.map { "+\($0.pause)  \($0.fault)" }.joined(separator: "\n"))
                continue
            }
            say("seed \(options.seed), \(ChaosRun.plan(of: options).steps.count) faults, \(options.clients) clients")
            let report = try await ChaosRun(options, say: say).report()
            say("\n\(report.text)\n")
            reports.append(report)
            try self.write(reports)
        }
        if reports.count > 1 {
            say(
                "\(reports.count) runs, \(reports.reduce(0) { $0 + $1.faultCount }) faults, "
                    + "\(reports.reduce(0) { $0 + $1.messages.accepted }) messages accepted, "
                    + "\(reports.reduce(0) { $0 + $1.violations.count }) broken promises")
        }
        return reports.allSatisfy(\.violations.isEmpty)
    }

    private func roll() async throws -> Bool {
        let report = try await RollingRestart(self.options(seed: self.seed ?? 1), say: say).report()
        say("\n\(report.text)\n")
        try self.write(report)
        return report.violations.isEmpty
    }

    private func failOver() async throws -> Bool {
        guard PatroniCluster.isAvailable else {
            throw ValidationError("failover needs root, etcd and Patroni: deploy/install-dependencies.sh")
        }
        let first = self.seed ?? UInt64.random(in: 1...999_999)
        var reports: [FailoverReport] = []
        for number in 0..<UInt64(self.runs) {
            let options = self.options(seed: first &+ number)
            let run = FailoverRun(
                options, faults: self.asynchronous ? [.primaryKilledAhead] : nil,
                waitsForStandby: !self.asynchronous, say: say)
            let report = try await run.report()
            say("\n\(report.text)\n")
            reports.append(report)
            try self.write(reports)
        }
        if reports.count > 1 {
            say(
                "\(reports.count) runs, \(reports.reduce(0) { $0 + $1.pauses.count }) faults, "
                    + "\(reports.reduce(0) { $0 + $1.messages.accepted }) messages accepted, "
                    + "\(reports.reduce(0) { $0 + $1.violations.count }) broken promises, "
                    + "\(reports.reduce(0) { $0 + $1.slow.count }) pauses that were too long")
        }
        return reports.allSatisfy { $0.violations.isEmpty && $0.slow.isEmpty }
    }

    private func options(seed: UInt64) -> ChaosRun.Options {
        var options = ChaosRun.Options(seed: seed, faults: self.faults)
        options.clients = self.clients
        options.gateways = self.gateways
        options.routers = self.routers
        options.lessons = self.lessons
        options.meetings = self.meetings
        options.programs = self.programs.map { URL(fileURLWithPath: $0).standardizedFileURL.path }
        options.keepsFolder = self.keep
        if self.plan == .clocks { options.faultsOf = .clocks }
        if self.plan == .masters { options.faultsOf = .masters }
        options.logLevel = self.logLevel
        return options
    }

    private func write(_ figures: some Encodable) throws {
        guard let json else { return }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        try encoder.encode(figures).write(to: URL(fileURLWithPath: json))
    }
}

/// Prints a line at once, whether a person or a file reads it.
@Sendable func say(_ line: String) {
    try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
}
