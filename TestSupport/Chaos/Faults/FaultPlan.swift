import struct ClusterContract.Partition
package import LocalStack
import TestKit

/// Which faults happen, in which order and after which pauses. The same for the same seed, count and cluster.
package struct FaultPlan: Sendable {
    package struct Step: Hashable, Sendable {
        /// Since the step before it began.
        package var pause: Duration
        package var fault: Fault
    }

    package let steps: [Step]
    /// Faults at a time.
    let together: Int

    private static let together = 3
    /// Between the beginnings of two faults, at most.
    private static let pauseMax = 900
    /// Longer than a router may be silent before another takes its place (5 s).
    private static let freezes = 5_500...8_000
    private static let downs = 0...1_500
    private static let delays = 20...400
    private static let troubles = 500...3_500
    /// By so many seconds a clock is off. Beyond the ten minutes of contract §3, and less than mail is kept.
    private static let clockOffsets = [-7_200, -700, -30, 30, 700, 3_600, 21_600]
    /// Longer than anything is kept.
    private static let yearsOff = 10
    /// Long-lived data is swept every 30 s at the latest (`RouterLimits.sweepInterval`).
    private static let sweep = Duration.seconds(36)
    /// Some things happen in years long past, and are found by a sweep when the clock is right again.
    private static let past = Duration.seconds(8)

    /// - Parameters:
    ///   - instances: of each service.
    ///   - hasClocks: whether clocks can be moved.
    ///   - hasMasters: whether Redis is a cluster. Then there are faults of its masters, and none of the one server.
    package init(
        seed: UInt64, count: Int, instances: [ServiceName: Int], hasClocks: Bool, hasMasters: Bool = false
    ) {
        var random = SeededGenerator(seed: seed)
        var kinds: [Kind] = []
        self.together = Self.together
        self.steps = (0..<count).map { _ in
            // From a bag that is filled again when it is empty: every kind happens, even in a short run.
            if kinds.isEmpty {
                kinds = Kind.bag(hasClocks: hasClocks, hasMasters: hasMasters).shuffled(using: &random)
            }
            let fault = kinds.removeLast().fault(of: instances, &random)
            return Step(pause: .milliseconds(Int.random(in: 50...Self.pauseMax, using: &random)), fault: fault)
        }
    }

    private init(_ steps: [Step], together: Int) {
        self.steps = steps
        self.together = together
    }

    /// One process of each service starts ten years ahead and stays there until all sweeps have looked, while another of it is ten
    /// years behind for a while. All at a time.
    package static func clocks(of instances: [ServiceName: Int]) -> FaultPlan {
        let faults = ServiceName.allCases.flatMap { service -> [Fault] in
            let ahead = Fault.startYearsOff(.service(service, 1), years: self.yearsOff, for: self.sweep)
            guard instances[service] ?? 0 > 1 else { return [ahead] }
            return [ahead, .startYearsOff(.service(service, 2), years: -self.yearsOff, for: self.past)]
        }
        return FaultPlan(faults.map { Step(pause: .milliseconds(50), fault: $0) }, together: faults.count)
    }

    private enum Kind: CaseIterable {
        case killRouter, killGateway, killAuth, killPush, killAttachments, killCalls, killRedis, killPostgres,
            killBalancer
        case killTogether, stopService, freezeRouter, freezeGateway, freezeOther, freezeRedis, flush
        case cut, delay, hold, close, moveClock, startYearsOff, fillQueues
        case killMaster, freezeMaster, moveStream, splitBus

        /// How often each is in the bag.
        static func bag(hasClocks: Bool, hasMasters: Bool) -> [Kind] {
            self.allCases.flatMap { kind in
                switch kind {
                case .killMaster, .freezeMaster, .moveStream, .splitBus: hasMasters ? [kind, kind] : []
                // They name the one Redis, or its link.
                case .killRedis, .killTogether, .freezeRedis, .fillQueues, .cut, .delay, .hold, .close:
                    hasMasters
                        ? []
                        : kind == .cut
                            ? [kind, kind, kind] : [.delay, .hold, .close].contains(kind) ? [kind, kind] : [kind]
                case .killRouter, .killGateway: [kind, kind, kind]
                case .stopService, .flush: [kind, kind]
                case .moveClock: hasClocks ? [kind, kind] : []
                case .startYearsOff: hasClocks ? [kind] : []
                default: [kind]
                }
            }
        }

        func fault(of instances: [ServiceName: Int], _ random: inout SeededGenerator) -> Fault {
            func any(_ service: ServiceName) -> StackProcess {
                .service(service, Int.random(in: 1...max(1, instances[service] ?? 1), using: &random))
            }
            func time(_ range: ClosedRange<Int>) -> Duration { .milliseconds(Int.random(in: range, using: &random)) }
            func link() -> Fault.Link { Fault.Link.allCases.randomElement(using: &random)! }
            switch self {
            case .killRouter: return .kill(any(.router), downFor: time(downs))
            case .killGateway: return .kill(any(.gateway), downFor: time(downs))
            case .killAuth: return .kill(any(.auth), downFor: time(downs))
            case .killPush: return .kill(any(.push), downFor: time(downs))
            case .killAttachments: return .kill(any(.attachments), downFor: time(downs))
            case .killCalls: return .kill(any(.calls), downFor: time(downs))
            case .killRedis: return .kill(.redis, downFor: time(downs))
            case .killPostgres: return .kill(.postgres, downFor: time(downs))
            case .killBalancer: return .kill(.balancer, downFor: time(downs))
            case .killTogether:
                let all: [StackProcess] = [.redis, .postgres, any(.router), any(.gateway), any(.auth), any(.push)]
                return .killTogether(
                    Array(all.shuffled(using: &random).prefix(Int.random(in: 2...4, using: &random))),
                    downFor: time(downs))
            case .stopService: return .stop(any(ServiceName.allCases.randomElement(using: &random)!))
            case .freezeRouter: return .freeze(any(.router), for: time(freezes))
            case .freezeGateway: return .freeze(any(.gateway), for: time(freezes))
            case .freezeOther:
                return .freeze(
                    any([.auth, .push, .attachments, .calls].randomElement(using: &random)!), for: time(freezes))
            case .freezeRedis: return .freeze(.redis, for: time(troubles))
            case .flush: return .flush
            case .cut: return .cut(link(), percent: [10, 30, 100].randomElement(using: &random)!)
            case .delay: return .delay(link(), by: time(delays), for: time(troubles))
            case .hold:
                let ways: [Set<FaultyProxy.Way>] = [[.there], [.back], [.there, .back]]
                return .hold(link(), ways: ways.randomElement(using: &random)!, for: time(troubles))
            case .close: return .close(link(), for: time(troubles))
            case .moveClock:
                let service = [ServiceName.router, .router, .gateway, .auth, .push].randomElement(using: &random)!
                return .moveClock(
                    any(service), seconds: clockOffsets.randomElement(using: &random)!, for: time(troubles))
            case .startYearsOff:
                let service = ServiceName.allCases.randomElement(using: &random)!
                let years = Bool.random(using: &random) ? yearsOff : -yearsOff
                return .startYearsOff(any(service), years: years, for: Bool.random(using: &random) ? sweep : past)
            case .fillQueues:
                let (first, all) = (Int.random(in: 0..<Partition.count, using: &random), Partition.count)
                return .fillQueues(partitions: (0..<4).map { (first + all / 4 * $0) % all }, for: time(troubles))
            case .killMaster: return .killMaster(ofPartition: Int.random(in: 0..<Partition.count, using: &random))
            case .freezeMaster:
                return .freezeMaster(
                    ofPartition: Int.random(in: 0..<Partition.count, using: &random), for: time(freezes))
            case .moveStream: return .moveStream(ofPartition: Int.random(in: 0..<Partition.count, using: &random))
            case .splitBus:
                return .splitBus(
                    ofPartition: Int.random(in: 0..<Partition.count, using: &random),
                    isUnaware: Bool.random(using: &random),
                    for: time(troubles))
            }
        }
    }
}
