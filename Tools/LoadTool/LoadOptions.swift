import ArgumentParser
import Foundation
import LocalStack

/// Everything that can be asked for. Every number has bounds, so that each run ends by itself.
struct LoadOptions: ParsableArguments {
    @Argument(help: "Workloads to run. By default W1 to W6, which take a few minutes.")
    var workloads: [Workload] = Workload.usual

    @Option(
        help:
            "Seconds measured, 1...600. Default: 15 in W1, 20 in W2, 60 in W4, 10 in W5 and for each point of a growth curve, 75 in W6, 30 of an idle core."
    )
    var seconds: Int?
    @Option(help: "Seconds of traffic before the measurement, 0...60.")
    var warmUp = 3
    @Option(help: "Pairs of a sender and a recipient, 1...2000.")
    var pairs = 100
    @Option(help: "Messages that a sender keeps under way (W1, W3), 1...64.")
    var window = 8
    @Option(help: "Bytes of ciphertext in a message, 1...12288.")
    var payload = 256
    @Option(help: "Messages per second over all senders (W2, soak), or for each master (masters), 1...20000.")
    var rate = 1_000
    @Option(help: "Messages to offline recipients over all senders (W3), 1...1000000.")
    var messages = 20_000
    @Option(
        help:
            "Connections, 1...50000; of the storm, whose clients are one process, 1...15000. Default: 10000. In endings, rounds: 200."
    )
    var count: Int?
    @Option(help: "Listeners of each conversation (live), 1...500. Conversations are --count, 1000 by default.")
    var listeners = 5
    @Option(help: "Packets a second of each whisperer (live), 1...25.")
    var packets = 8
    @Flag(help: "A whisperer types when all its listeners have heard the packet before (live): as fast as it goes.")
    var closedLoop = false
    @Option(
        help: "Signals in each room (rooms), 1...200. Rooms are --count, 500 by default. --rate is signals a second.")
    var signals = 20
    @Option(help: "Joins a second (rooms), 1...2000.")
    var joins = 100
    @Option(help: "Messages in the store (core), 1000...1000000.")
    var stored = 100_000
    @Option(help: "How long the soak takes, 1...240 minutes.")
    var minutes = 60
    @Option(
        parsing: .upToNextOption,
        help:
            "Points of a growth curve (pending, identities), each 100...1000000, in rising order; one that comes again is measured again. Default: four of them."
    )
    var levels: [Int] = []
    @Option(
        parsing: .upToNextOption,
        help: "Messages per second of part-load's points, each 0...20000. Default: 0 to 10000, six of them.")
    var rates: [Int] = []
    @Option(help: "Gateways, 1...8.")
    var gateways = 2
    @Option(help: "Masters of a Redis Cluster in place of one Redis, each with a replica, 1...8; 0 for the one.")
    var masters = 0
    @Option(help: "Routers, 1...8.")
    var routers = 2

    @Option(parsing: .upToNextOption, help: "Settings of Postgres, such as shared_buffers=1GB.")
    var postgres: [String] = []

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
        let isOneProcess = self.workloads.contains(.storm)
        if let count { try check(count, 1...(isOneProcess ? 15_000 : 50_000), "--count") }
        try check(self.listeners, 1...500, "--listeners")
        try check(self.packets, 1...25, "--packets")
        if self.workloads.contains(.live) {
            try check((self.count ?? liveConversations) * (self.listeners + 1), 1...15_000, "clients of live")
        }
        try check(self.signals, 1...200, "--signals")
        try check(self.joins, 1...2_000, "--joins")
        if self.workloads.contains(.rooms) { try check(self.count ?? roomsMeasured, 1...7_500, "--count of rooms") }
        try check(self.stored, 1_000...1_000_000, "--stored")
        try check(self.minutes, 1...240, "--minutes")
        for level in self.levels { try check(level, 100...1_000_000, "--levels") }
        for rate in self.rates { try check(rate, 0...20_000, "--rates") }
        for setting in self.postgres where !setting.contains("=") {
            throw ValidationError("--postgres takes name=value, not \(setting); workloads go before it")
        }
        guard self.levels == self.levels.sorted() else { throw ValidationError("--levels must rise") }
        try check(self.gateways, 1...8, "--gateways")
        try check(self.routers, 1...8, "--routers")
        try check(self.masters, 0...8, "--masters")
        if !self.profileWords.isEmpty, self.profile == nil {
            throw ValidationError("--profile takes seconds (1...60) and a process, such as: --profile 5 router-1")
        }
    }

    var profile: ProcessProfile? {
        guard self.profileWords.count == 2, let seconds = Int(self.profileWords[0]), (1...60).contains(seconds) else {
            return nil
        }
        return ProcessProfile(seconds: seconds, process: self.profileWords[1])
    }

    func stack(for workload: Workload) throws -> StackConfiguration {
        var stack = StackConfiguration()
        if let programs { stack.programs = URL(fileURLWithPath: programs).standardizedFileURL.path }
        if self.keep { stack.folder = try TemporaryFolder(named: "load-\(workload.rawValue)").path }
        stack.instances[.gateway] = self.gateways
        stack.instances[.router] = self.routers
        stack.busMasters = self.masters
        stack.postgresSettings = self.postgres
        if [.storm, .liveLines].contains(workload) {
            stack.postgresSettings += ["shared_preload_libraries=pg_stat_statements"]
        }
        // Limits are not what is measured: senders here are strangers to their recipients.
        stack.rateLimitScale = 100_000
        stack.environment[.router] = [
            "MAILBOX_MESSAGES_MAX": "100000000", "MAILBOX_BYTES_MAX": "1000000000000",
            "MAILBOX_STRANGER_MESSAGES_MAX": "100000000", "MAILBOX_STRANGER_BYTES_MAX": "1000000000000",
            "MAILBOX_STRANGERS_MESSAGES_MAX": "100000000", "MAILBOX_STRANGERS_BYTES_MAX": "1000000000000",
        ]
        return stack
    }

    /// Where clients connect, in turn.
    func ports(of stack: LocalStack) -> [Int] {
        self.throughBalancer
            ? [stack.ports.public] : (stack.ports.services[.gateway] ?? []).compactMap(\.http)
    }
}
