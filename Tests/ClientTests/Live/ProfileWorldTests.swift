import Foundation
import Testing

/// Devices of a profile under all that may happen to them (`ProfileWorld`).
@Suite(.timeLimit(.minutes(20))) struct ProfileWorldTests {
    private let folder: TemporaryFolder
    private let template: String

    init() throws {
        self.folder = try TemporaryFolder()
        self.template = try ProfileWorld.template(in: self.folder.path)
    }

    /// `PROFILE_SEEDS=10000` plays more.
    private static let seeds = ProcessInfo.processInfo.environment["PROFILE_SEEDS"].flatMap { UInt64($0) } ?? 40

    private func world(_ seed: UInt64, _ mutation: ProfileWorld.Mutation? = nil) throws -> ProfileWorld {
        try ProfileWorld(seed: seed, mutation, template: self.template, in: self.folder.path)
    }

    @Test func whatOneDeviceChangesIsOnAllOthers() throws {
        var lostRaces = 0
        for seed in 0..<Self.seeds {
            var world = try self.world(seed)
            if let broken = try world.run() {
                Issue.record("seed \(seed): \(broken)")
                return
            }
            lostRaces += world.lostRaces
        }
        #expect(lostRaces > 0)
    }

    @Test(arguments: ProfileWorld.Mutation.allCases)
    func eachMutationIsFound(_ mutation: ProfileWorld.Mutation) throws {
        for seed in 0..<Self.seeds {
            var world = try self.world(seed, mutation)
            if let broken = try world.run() { return print("· \(mutation): seed \(seed), \(broken)") }
        }
        Issue.record("not found")
    }
}
