import Foundation
import Testing

/// Devices of a profile under all that may happen to them (`ProfileWorld`).
@Suite(.timeLimit(.minutes(20))) struct ProfileWorldTests {
    /// `PROFILE_SEEDS=100000` plays more.
    private static let seeds = ProcessInfo.processInfo.environment["PROFILE_SEEDS"].flatMap { UInt64($0) } ?? 300

    @Test func whatOneDeviceChangesIsOnAllOthers() {
        for seed in 0..<Self.seeds {
            var world = ProfileWorld(seed: seed)
            if let broken = world.run() {
                Issue.record("seed \(seed): \(broken)")
                return
            }
        }
    }

    @Test(arguments: ProfileWorld.Mutation.allCases) func eachMutationIsFound(_ mutation: ProfileWorld.Mutation) {
        for seed in 0..<Self.seeds {
            var world = ProfileWorld(seed: seed, mutation)
            if let broken = world.run() { return print("· \(mutation): seed \(seed), \(broken)") }
        }
        Issue.record("not found")
    }
}
