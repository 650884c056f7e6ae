import LocalStack
import TestKit

/// Every process of every service is asked to end, started anew and waited for, one after the other, while a crowd
/// writes steadily. The report shows what the crowd's members notice.
package struct RollingRestart: Sendable {
    private let options: ChaosRun.Options
    private let say: @Sendable (String) -> Void

    private static let calmTime = Duration.seconds(5)
    /// Between two restarts.
    private static let pause = Duration.seconds(1)
    private static let healingMax = Duration.seconds(60)

    package init(_ options: ChaosRun.Options, say: @escaping @Sendable (String) -> Void = { _ in }) {
        self.options = options
        self.say = say
    }

    package func report() async throws -> RollingReport {
        var configuration = StackConfiguration()
        if let programs = self.options.programs { configuration.programs = programs }
        configuration.instances = self.options.instances
        configuration.rateLimitScale = 1_000
        if self.options.keepsFolder { configuration.folder = try TemporaryFolder(named: "rolling").path }
        let stack = try await LocalStack.start(configuration) { self.say("· \($0)") }
        do {
            let report = try await self.roll(stack)
            await stack.stop()
            return report
        } catch {
            await stack.stop()
            throw error
        }
    }

    private func roll(_ stack: LocalStack) async throws -> RollingReport {
        self.say("· gathering \(self.options.clients) clients")
        let crowd = try await Crowd.gather(
            self.options.clients, seed: self.options.seed, at: "127.0.0.1:\(stack.ports.public)",
            pace: self.options.pace,
            pushes: nil)
        var restarts: [RollingReport.Restart] = []
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await crowd.run() }
            try await Task.sleep(for: Self.calmTime)
            for process in stack.processes {
                guard case .service = process else { continue }
                let before = ContinuousClock.now
                let status = await stack.stop(process)
                let stopped = ContinuousClock.now
                if status != .exited(0) {
                    crowd.ledger.remark("\(process) ended with \(status.map { "\($0)" } ?? "nothing")")
                }
                try await stack.start(process)
                restarts.append(
                    .init(
                        process: "\(process)", stopping: (stopped - before).seconds, starting: (.now - stopped).seconds)
                )
                self.say("· \(restarts.last!.text)")
                try await Task.sleep(for: Self.pause)
            }
            try await Task.sleep(for: Self.calmTime)
            await crowd.stopWriting()
            do {
                try await crowd.settle(within: Self.healingMax)
            } catch {
                crowd.ledger.remark("\(error)")
            }
            group.cancelAll()
        }
        await crowd.lookAround()
        for process in stack.processes {
            for line in StackLog.errors(in: stack.log(of: process)).prefix(3) { crowd.ledger.remark(line) }
        }
        return RollingReport(
            clients: self.options.clients, messages: crowd.ledger.count, restarts: restarts,
            travel: Spread(crowd.ledger.travelTimes), live: Spread(crowd.ledger.liveTravelTimes),
            gaps: Spread(crowd.ledger.gaps),
            violations: crowd.ledger.faults(onTheWay: .seconds(2)))
    }
}

/// The result of a rolling restart.
package struct RollingReport: Sendable, Codable {
    package struct Restart: Sendable, Codable {
        var process: String
        /// Seconds from SIGTERM to the end, and from the start until it is ready.
        var stopping: Double
        var starting: Double

        var text: String {
            "\(self.process): ended after \(self.stopping.short) s, ready after \(self.starting.short) s"
        }
    }

    package var clients: Int
    package var messages: Ledger.Count
    package var restarts: [Restart]
    /// From sending to receiving.
    package var travel: Spread
    /// The same, for messages that came in a `message_received`.
    package var live: Spread
    /// Without a connection, each time.
    package var gaps: Spread
    package var violations: [String]

    package var text: String {
        """
        \(self.restarts.count) restarts under \(self.clients) clients
          \(self.messages.sent) sent, \(self.messages.accepted) accepted, \(self.messages.arrived) delivered, \(self.messages.told) told; \
        \(self.messages.repeatedLive) repeated before their receipt
          sent to received, s:     \(self.travel.text)
          of those, live, s:       \(self.live.text)
          without a connection, s: \(self.gaps.text)
        \(self.violations.isEmpty ? "every promise was kept" : "\(self.violations.count) broken promises:\n  " + self.violations.prefix(30).joined(separator: "\n  "))
        """
    }
}

/// How times are spread, in seconds.
package struct Spread: Sendable, Codable {
    package var count: Int
    package var p50: Double
    package var p99: Double
    package var max: Double

    init(_ times: [Duration]) {
        let sorted = times.map(\.seconds).sorted()
        func at(_ share: Double) -> Double { sorted.isEmpty ? 0 : sorted[Int(Double(sorted.count - 1) * share)] }
        self.count = sorted.count
        self.p50 = at(0.5)
        self.p99 = at(0.99)
        self.max = sorted.last ?? 0
    }

    var text: String { "p50 \(self.p50.short), p99 \(self.p99.short), most \(self.max.short) (of \(self.count))" }
}

extension Double {
    fileprivate var short: String { "\((self * 1_000).rounded() / 1_000)" }
}
