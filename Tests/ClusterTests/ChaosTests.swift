import Chaos
import Foundation
import LocalStack
import TestKit
import Testing

/// A short, fixed part of `make chaos`: these plans have to be survived always. More of them, and longer: `make chaos`.
@Suite(.serialized, .ownClusters(.busy)) struct ChaosTests {
    @Test(arguments: Prove.all([UInt64(1), 2], butInShort: [1])) func everyPromiseIsKeptThroughThePlan(
        seed: UInt64
    ) async throws {
        let faults = Prove.isAsked ? 15 : 10
        var options = ChaosRun.Options(seed: seed, faults: faults)
        options.clients = 60
        let report = try await ChaosRun(options).report()
        #expect(report.violations.isEmpty, "\(report.text)")
        // A run in which nothing happened would prove nothing.
        #expect(report.faultCount == faults && report.reconnects > 0)
        #expect(report.messages.accepted > 0 && report.messages.told > 0)
        #expect(report.strangeActs > 0 && report.messages.mailOfStrangers > 0 && report.erased > 0)
    }

    /// Deletion compares ages with the database's clock (contract §13a).
    @Test(.long, .enabled(if: OwnClock.isAvailable)) func clocksThatAreYearsOffDeleteNothing() async throws {
        var options = ChaosRun.Options(seed: 1, faults: 0)
        options.faultsOf = .clocks
        options.clients = 60
        options.gateways = 3
        options.routers = 3
        let report = try await ChaosRun(options).report()
        #expect(report.violations.isEmpty, "\(report.text)")
        #expect(report.faultCount == 12 && report.messages.told > 0 && report.messages.refusedByClocks > 0)
    }

    @Test func aRollingRestartLosesAndRepeatsNothing() async throws {
        var options = ChaosRun.Options(seed: 3, faults: 0)
        options.clients = 60
        options.others = 1
        let report = try await RollingRestart(options).report()
        #expect(report.violations.isEmpty, "\(report.text)")
        #expect(report.restarts.count == 8 && report.gaps.count >= options.clients)
    }

    /// The primary has committed what no standby has when it is killed. How long nothing was accepted is for `make chaos
    /// PLAN=failover` to say.
    @Test(
        .enabled(
            if: ProcessInfo.processInfo.environment["WHISPER_FAILOVER"] != nil && PatroniCluster.isAvailable,
            "WHISPER_FAILOVER=1 asks for it; needs root, process namespaces, etcd-server, curl and patroni"))
    func whatIsAcceptedSurvivesThePrimary() async throws {
        var options = ChaosRun.Options(seed: 1, faults: 0)
        options.clients = 40
        options.gateways = 1
        options.others = 1
        let report = try await FailoverRun(options, faults: [.primaryKilledAhead, .majorityGone]).report()
        #expect(report.violations.isEmpty, "\(report.text)")
        #expect(report.pauses.count == 2 && report.messages.accepted > 0)
    }
}
