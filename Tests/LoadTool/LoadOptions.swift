import ArgumentParser
import Foundation
import LocalStack

/// Everything that can be asked for. Every number has bounds, so that each run ends by itself.
struct LoadOptions: ParsableArguments {
    @Argument(help: "Workloads to run: W1 W2 W3 W4 W5 W6. All of them by default.")
    var workloads: [Workload] = Workload.allCases

    @Option(help: "Seconds measured, 1...600. Default: 15 in W1, 20 in W2, 60 in W4, 10 in W5, 75 in W6.")
    var seconds: Int?
    @Option(help: "Seconds of traffic before the measurement, 0...60.")
    var warmUp = 3
    @Option(help: "Pairs of a sender and a recipient, 1...2000.")
    var pairs = 100
    @Option(help: "Messages that a sender keeps under way (W1, W3), 1...64.")
    var window = 8
    @Option(help: "Bytes of ciphertext in a message, 1...12288.")
    var payload = 256
    @Option(help: "Messages per second over all senders (W2), 1...20000.")
    var rate = 1_000
    @Option(help: "Messages to offline recipients over all senders (W3), 1...1000000.")
    var messages = 20_000
    @Option(help: "Idle connections (W4), 1...50000.")
    var count = 5_000
    @Option(help: "Gateways, 1...8.")
    var gateways = 2
    @Option(help: "Routers, 1...8.")
    var routers = 2

    @Flag(help: "Connect through HAProxy instead of to the gateways.")
    var throughBalancer = false
    @Flag(help: "Keep the data folder of each cluster, with its logs.")
    var keep = false
    @Option(help: "Write all figures to this file, as JSON.")
    var json: String?
    @Option(help: "Folder of the server executables; the one beside this program by default.")
    var programs: String?
    @Option(
        name: .customLong("profile"), parsing: .upToNextOption,
        help: ArgumentHelp(
            "Record a process with perf during W1 or W2 and print its most expensive functions.",
            valueName: "seconds process"))
    var profileWords: [String] = []

    func validate() throws {
        func check(_ value: Int, _ range: ClosedRange<Int>, _ name: String) throws {
            guard range.contains(value) else { throw ValidationError("\(name) must be within \(range)") }
        }
        if let seconds { try check(seconds, 1...600, "--seconds") }
        try check(self.warmUp, 0...60, "--warm-up")
        try check(self.pairs, 1...2_000, "--pairs")
        try check(self.window, 1...64, "--window")
        try check(self.payload, 1...12_288, "--payload")
        try check(self.rate, 1...20_000, "--rate")
        try check(self.messages, 1...1_000_000, "--messages")
        try check(self.count, 1...50_000, "--count")
        try check(self.gateways, 1...8, "--gateways")
        try check(self.routers, 1...8, "--routers")
        if !self.profileWords.isEmpty, self.profile == nil {
            throw ValidationError("--profile takes seconds (1...60) and a process, such as: --profile 5 router-1")
        }
    }

    var profile: Profile? {
        guard self.profileWords.count == 2, let seconds = Int(self.profileWords[0]), (1...60).contains(seconds) else {
            return nil
        }
        return Profile(seconds: seconds, process: self.profileWords[1])
    }

    func stack(for workload: Workload) throws -> StackConfiguration {
        var stack = StackConfiguration()
        if let programs { stack.programs = URL(fileURLWithPath: programs).standardizedFileURL.path }
        if self.keep { stack.folder = try TemporaryFolder(named: "load-\(workload.rawValue)").path }
        stack.instances[.gateway] = self.gateways
        stack.instances[.router] = self.routers
        // Limits are not what is measured.
        stack.rateLimitScale = 100_000
        return stack
    }

    /// Where clients connect, in turn.
    func ports(of stack: LocalStack) -> [Int] {
        self.throughBalancer
            ? [stack.ports.public] : (stack.ports.services[.gateway] ?? []).compactMap(\.http)
    }
}
