import LocalStack
import TestKit

/// Postgres under Patroni loses its primary in every way there is, one after the other, while a crowd writes. Is anything
/// lost that was accepted, and for how long is nothing accepted?
package struct FailoverRun: Sendable {
    package enum Fault: String, CaseIterable, Sendable, Codable {
        /// SIGKILL to Postgres. Patroni lives.
        case primaryKilled
        /// The same, after a second in which its standbys were sent nothing: what it alone has is lost with it.
        case primaryKilledAhead
        /// SIGKILL to Postgres, Patroni and etcd of the primary's host.
        case hostLost
        /// SIGSTOP to all of it; woken when another has taken its place.
        case primaryFrozen
        /// In order, as for planned work.
        case switchover
        /// The host of a standby is lost.
        case standbyGone
        /// Two of three etcd.
        case majorityGone

        /// Longest time without anything accepted, in seconds. Patroni's TTL is 20 s: that long a silent primary keeps its place.
        package var pauseMax: Double {
            switch self {
            case .primaryKilled, .switchover, .standbyGone: 8
            case .primaryKilledAhead: 8 + FailoverRun.ahead.seconds
            case .hostLost, .primaryFrozen, .majorityGone: 35
            }
        }
    }

    private let options: ChaosRun.Options
    private let faults: [Fault]
    private let waitsForStandby: Bool
    private let say: @Sendable (String) -> Void

    private static let ahead = Duration.seconds(1)
    private static let calmTime = Duration.seconds(3)
    /// Patroni's TTL of 20 s, and a quarter: a primary that cannot renew its place has stepped down.
    private static let steppedDownAfter = Duration.seconds(25)
    private static let withoutMajority = steppedDownAfter + .seconds(5)
    /// Longest wait for something accepted after a fault, whatever the bound: a slow machine is not a lost message.
    private static let resumedMax = Duration.seconds(150)
    private static let healingMax = Duration.seconds(90)
    private static let onTheWay = Duration.seconds(20)

    /// - Parameters:
    ///   - faults: in an order that the seed decides when nil: each of them once.
    ///   - waitsForStandby: whether a commit does. Without it `primaryKilledAhead` loses what was accepted.
    package init(
        _ options: ChaosRun.Options, faults: [Fault]? = nil, waitsForStandby: Bool = true,
        say: @escaping @Sendable (String) -> Void = { _ in }
    ) {
        self.options = options
        var random = SeededGenerator(seed: options.seed)
        self.faults = faults ?? Fault.allCases.shuffled(using: &random)
        self.waitsForStandby = waitsForStandby
        self.say = say
    }

    package func report() async throws -> FailoverReport {
        let pushes = try await Pushes.start()
        do {
            let report = try await self.report(with: pushes)
            await pushes.stop()
            return report
        } catch {
            await pushes.stop()
            throw error
        }
    }

    private func report(with pushes: Pushes) async throws -> FailoverReport {
        var configuration = StackConfiguration()
        if let programs = self.options.programs { configuration.programs = programs }
        configuration.instances = self.options.instances
        configuration.rateLimitScale = 1_000
        configuration.environment[.push] = pushes.environment
        configuration.failsOver = true
        configuration.waitsForStandby = self.waitsForStandby
        if let level = self.options.logLevel { configuration.logLevel = level }
        if self.options.keepsFolder { configuration.folder = try TemporaryFolder(named: "failover").path }
        let stack = try await LocalStack.start(configuration) { self.say("· \($0)") }
        do {
            let report = try await self.play(on: stack, pushes)
            await stack.stop()
            return report
        } catch {
            await stack.stop()
            throw error
        }
    }

    private func play(on stack: LocalStack, _ pushes: Pushes) async throws -> FailoverReport {
        let cluster = stack.cluster!  // the configuration has asked for it
        self.say("· gathering \(self.options.clients) clients")
        // Some are away: what reaches its recipient at once is missed by nobody when the primary loses it.
        let crowd = try await Crowd.gather(
            self.options.clients, seed: self.options.seed, at: "127.0.0.1:\(stack.ports.public)",
            pace: self.options.pace, pushes: pushes)
        var pauses: [FailoverReport.Pause] = []
        try await withThrowingDiscardingTaskGroup { group in
            group.addTask { await crowd.run() }
            for fault in self.faults {
                let primary = try await cluster.becomeWhole()
                try await Task.sleep(for: Self.calmTime)
                let seconds = try await self.pause(of: fault, primary, cluster, crowd.ledger)
                let next = try await cluster.becomeWhole()
                pauses.append(.init(fault: fault, from: primary, to: next, seconds: seconds))
                self.say("· \(pauses.last!.text)")
            }
            try await Task.sleep(for: Self.calmTime)
            await crowd.stopWriting()
            await Self.settle(crowd, absentAreAway: true)
            await crowd.fetchSleepers()
            await crowd.fetchAbsent()
            await Self.settle(crowd, absentAreAway: false)
            group.cancelAll()
        }
        await crowd.lookAround()
        for process in stack.processes {
            for line in StackLog.errors(in: stack.log(of: process)).prefix(3) { crowd.ledger.remark(line) }
        }
        return FailoverReport(
            seed: self.options.seed, clients: self.options.clients, messages: crowd.ledger.count, pauses: pauses,
            violations: crowd.ledger.faults(onTheWay: Self.onTheWay))
    }

    private static func settle(_ crowd: Crowd, absentAreAway: Bool) async {
        do {
            try await crowd.settle(within: self.healingMax, absentAreAway: absentAreAway)
        } catch {
            crowd.ledger.remark("\(error)")
        }
    }

    /// Makes it happen, waits until messages are accepted again, and undoes it.
    /// - Returns: longest time without anything accepted, in seconds.
    private func pause(
        of fault: Fault, _ primary: Int, _ cluster: PatroniCluster, _ ledger: Ledger
    ) async throws -> Double {
        var start = ContinuousClock.now
        switch fault {
        case .primaryKilled: try await cluster.killPostgres(primary)
        case .primaryKilledAhead: try await cluster.killPostgres(primary, unsent: Self.ahead)
        case .hostLost: await cluster.loseHost(primary)
        case .primaryFrozen: await cluster.freezeHost(primary)
        case .switchover: try await cluster.switchOver(from: primary)
        case .standbyGone: await cluster.loseHost(Self.others(than: primary)[0])
        case .majorityGone:
            for node in Self.others(than: primary) { await cluster.killEtcd(node) }
            let lost = ContinuousClock.now
            try await Task.sleep(for: Self.withoutMajority)
            start = .now
            // A primary that cannot reach the majority does not know whether it has chosen another.
            let late = ledger.acceptances(after: lost + Self.steppedDownAfter).count
            if late > 0 { ledger.remark("unguarded: \(late) messages were accepted while etcd had no majority") }
            for node in Self.others(than: primary) { try await cluster.startEtcd(node) }
        }
        // A message that is sent from here on cannot have been accepted by a node that is gone.
        let happened = ContinuousClock.now
        try await waitUntil(
            "messages are accepted after \(fault.rawValue)", within: Self.resumedMax, every: .milliseconds(100)
        ) { ledger.hasAccepted(whatWasSentAfter: happened) }
        let pause = ledger.longestPause(since: start)
        switch fault {
        case .hostLost: try await cluster.restoreHost(primary)
        case .primaryFrozen: await cluster.thawHost(primary)
        case .standbyGone: try await cluster.restoreHost(Self.others(than: primary)[0])
        case .primaryKilled, .primaryKilledAhead, .switchover, .majorityGone: break
        }
        return pause
    }

    private static func others(than node: Int) -> [Int] { PatroniCluster.nodes.filter { $0 != node } }
}

extension Ledger {
    fileprivate func hasAccepted(whatWasSentAfter moment: ContinuousClock.Instant) -> Bool {
        self.state.withLock { state in
            state.records.values.contains { $0.firstSent > moment && $0.acceptedAt != nil }
        }
    }

    /// Longest time without anything accepted from a moment to now, in seconds.
    fileprivate func longestPause(since start: ContinuousClock.Instant) -> Double {
        let times = self.acceptances(after: start).sorted()
        return zip([start] + times, times).map { ($1 - $0).seconds }.max() ?? 0
    }

    /// When messages were accepted from a moment to now.
    fileprivate func acceptances(after start: ContinuousClock.Instant) -> [ContinuousClock.Instant] {
        self.state.withLock { state in
            state.records.values.compactMap { record in record.acceptedAfter.map { record.firstSent + $0 } }
        }.filter { $0 > start }
    }
}

/// The result of a run of fail-overs.
package struct FailoverReport: Sendable, Codable {
    package struct Pause: Sendable, Codable {
        package var fault: FailoverRun.Fault
        /// The primary before and after.
        var from: Int
        var to: Int
        /// Longest time without anything accepted.
        package var seconds: Double

        var text: String {
            "\(self.fault.rawValue): nothing accepted for \(self.shown) s of \(Int(self.fault.pauseMax)); primary \(self.from) → \(self.to)"
        }
        var shown: Double { (self.seconds * 10).rounded() / 10 }
    }

    package var seed: UInt64
    package var clients: Int
    package var messages: Ledger.Count
    package var pauses: [Pause]
    /// Empty if everything promised was kept.
    package var violations: [String]

    package var lost: Int { self.violations.count { $0.hasPrefix("lost:") } }
    package var twice: Int { self.violations.count { $0.hasPrefix("twice:") } }

    /// Faults after which nothing was accepted for too long. They say something about the machine, too.
    package var slow: [Pause] { self.pauses.filter { $0.seconds > $0.fault.pauseMax } }

    package var text: String {
        let lines = self.pauses.map { "  \($0.text)\($0.seconds > $0.fault.pauseMax ? " (too long)" : "")" }
        let verdict =
            self.violations.isEmpty
            ? "every promise was kept"
            : "\(self.violations.count) broken promises:\n  " + self.violations.prefix(30).joined(separator: "\n  ")
        return """
            seed \(self.seed): \(self.pauses.count) fail-overs under \(self.clients) clients
            \(lines.joined(separator: "\n"))
              \(self.messages.sent) sent, \(self.messages.accepted) accepted, \(self.messages.arrived) delivered, \(self.messages.told) told; \
            \(self.lost) lost, \(self.twice) seen again after their receipt
            \(verdict)
            """
    }
}
