import Chaos
import LocalStack
import Testing

@Suite struct FaultPlanTests {
    private static let instances: [ServiceName: Int] = [
        .gateway: 2, .router: 2, .auth: 2, .push: 2, .attachments: 2, .calls: 2,
    ]

    private func plan(_ seed: UInt64, _ count: Int = 60, hasClocks: Bool = true) -> [FaultPlan.Step] {
        FaultPlan(seed: seed, count: count, instances: Self.instances, hasClocks: hasClocks).steps
    }

    @Test func aSeedIsAPlan() {
        #expect(self.plan(7) == self.plan(7))
        #expect(self.plan(7) != self.plan(8))
        #expect(Array(self.plan(7, 60).prefix(20)) == self.plan(7, 20))
    }

    @Test(arguments: UInt64(0)..<20) func everyKindHappens(seed: UInt64) {
        let kinds = Set(self.plan(seed, 40).map(\.fault.kind))
        for kind in [
            "kill router", "kill gateway", "kill auth", "kill push", "kill attachments", "kill calls", "kill redis",
            "kill postgres",
            "kill haproxy", "kill several at once", "freeze router", "freeze gateway", "freeze redis", "flush redis",
            "fill queues",
        ] {
            #expect(kinds.contains(kind), "\(kind)")
        }
        #expect(kinds.contains { $0.hasPrefix("move clock") })
    }

    @Test func everyServiceIsStartedYearsAheadAndYearsBehind() {
        let faults = FaultPlan.clocks(of: Self.instances).steps.map(\.fault)
        for service in ServiceName.allCases {
            for years in [10, -10] {
                #expect(faults.count { $0.kind == "move clock of \(service.rawValue) by \(years) years" } == 1)
            }
        }
        #expect(faults.count == 2 * ServiceName.allCases.count)
    }

    /// Faults of one Redis would hit nothing in a cluster, and the other way round.
    @Test func aClusterOfRedisHasFaultsOfItsOwn() {
        let plan = FaultPlan(seed: 3, count: 200, instances: Self.instances, hasClocks: true, hasMasters: true)
        let kinds = Set(plan.steps.map(\.fault.kind))
        let own: Set = ["kill a master of redis", "freeze a master of redis", "move a stream", "split the bus"]
        #expect(kinds.isSuperset(of: own) && kinds.contains("kill router") && kinds.contains("flush redis"))
        #expect(
            kinds.isDisjoint(with: ["kill redis", "freeze redis", "fill queues", "kill several at once", "cut redis"]))
        #expect(own.isDisjoint(with: self.plan(3, 200).map(\.fault.kind)))
    }

    @Test func withoutTheLibraryNoClockIsMoved() {
        #expect(!self.plan(3, 200, hasClocks: false).contains { $0.fault.kind.hasPrefix("move clock") })
    }
}
