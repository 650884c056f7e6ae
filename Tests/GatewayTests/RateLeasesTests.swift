import ClusterContract
import Contract
import TestKit
import Testing

@testable import GatewayCore

private let rate = Rates.sendMessage
private let table = RateTable()
private let allowance = table.allowance(of: rate)

private func leases(countedMax: Int = 1_000) -> RateLeases<Int> {
    RateLeases([rate], of: table, countedMax: countedMax)
}

/// The server's half: one count, of subject 1.
private struct Server {
    private var pace = SharedPace()
    private var records: UInt64 = 0

    mutating func grant(_ request: RateRequest, at now: Int64) -> RateGrant {
        let time = Timestamp(milliseconds: now)
        // The key ends when the subject is at rest.
        if self.pace.restedAt <= Double(now) { self.pace = SharedPace() }
        self.records += 1
        return self.pace.grant(request, at: time, newRecord: UInt64(now) * 1_000 + self.records % 1_000)
    }

    mutating func forgetEverything() { self.pace = SharedPace() }
}

extension RateLeases<Int> {
    /// Takes one use, with a server that answers at once.
    fileprivate mutating func take(_ server: inout Server, as terms: RateTerms = .usual, at now: Int64) -> Verdict {
        while true {
            let (verdict, leaseRequest) = self.take(rate, 1, as: terms, at: now)
            if let leaseRequest {
                _ = self.answered(leaseRequest, server.grant(leaseRequest.request, at: now), at: now)
            }
            if verdict != .unknown { return verdict }
        }
    }

    fileprivate mutating func takeAll(_ server: inout Server, as terms: RateTerms = .usual, at now: Int64) -> Int {
        var count = 0
        while self.take(&server, as: terms, at: now) == .admitted { count += 1 }
        return count
    }
}

@Suite struct RateLeasesTests {
    private let now: Int64 = 5_000_000

    @Test func aMinutesWorthMayBeUsedAtOnceAndThenComesBackEvenly() {
        var (server, gateway) = (Server(), leases())
        #expect(gateway.takeAll(&server, at: self.now) == 120)
        #expect(gateway.take(&server, at: self.now) == .refused(500))
        #expect(gateway.takeAll(&server, at: self.now + 500) == 1)
        #expect(gateway.takeAll(&server, at: self.now + 10_500) == 20)
    }

    // MARK: Classes of rates (contract §20.7)

    private static let classes = RateClasses("slow: typing=240; bot: send_message=1200/600")!

    private func classed() -> RateLeases<Int> {
        RateLeases([rate], of: table, classes: Self.classes, countedMax: 1_000)
    }

    private func terms(_ name: String) -> RateTerms { self.classed().terms(of: RateClassName(name)!)! }

    @Test func aClassHasItsOwnRateAndEverybodysWhereItNamesNone() {
        var (server, gateway) = (Server(), self.classed())
        let bot = self.terms("bot")
        #expect(gateway.terms(of: RateClassName("other")!) == nil)
        #expect(gateway.takeAll(&server, as: bot, at: self.now) == 600)
        #expect(gateway.take(&server, as: bot, at: self.now) == .refused(50))
        #expect(gateway.takeAll(&server, as: bot, at: self.now + 500) == 10)
        (server, gateway) = (Server(), self.classed())
        #expect(gateway.takeAll(&server, as: self.terms("slow"), at: self.now) == 120)
    }

    /// All gateways count as one also for a class.
    @Test func gatewaysTogetherAllowNoMoreToAClass() {
        var server = Server()
        let bot = self.terms("bot")
        var gateways = [self.classed(), self.classed()]
        var count = 0
        for number in 0..<1_000 where gateways[number % 2].take(&server, as: bot, at: self.now) == .admitted {
            count += 1
        }
        #expect(count == 600)
    }

    /// Uses that were leased at its price are nobody's.
    @Test func withoutItsClassItHasNoMoreLeftThanOthers() {
        var (server, gateway, other) = (Server(), self.classed(), self.classed())
        let bot = self.terms("bot")
        for _ in 0..<300 { #expect(gateway.take(&server, as: bot, at: self.now) == .admitted) }
        // 300 uses are 15 s of its rate, and a lease is 2.5 s: of everybody's minute as much is gone, here and elsewhere.
        var there = server
        #expect((85...90).contains(gateway.takeAll(&server, at: self.now)))
        #expect((85...90).contains(other.takeAll(&there, at: self.now)))
    }

    @Test func aLeaseThatComesAfterTheClassIsNobodys() throws {
        var (server, gateway) = (Server(), self.classed())
        let late = try #require(gateway.take(rate, 1, as: self.terms("bot"), at: self.now).1)
        #expect(gateway.take(rate, 1, at: self.now).0 == .unknown)
        _ = gateway.answered(late, server.grant(late.request, at: self.now), at: self.now)
        #expect(gateway.take(rate, 1, at: self.now).0 == .unknown)
    }

    /// The identity goes from one gateway to another with each use.
    @Test func gatewaysTogetherAllowNoMore() {
        var server = Server()
        var gateways = [leases(), leases(), leases()]
        var count = 0
        for number in 0..<600 where gateways[number % 3].take(&server, at: self.now) == .admitted { count += 1 }
        #expect(count == 120)
    }

    @Test func mostUsesCostNoRequest() {
        var (server, gateway) = (Server(), leases())
        var requests = 0
        for number in 0..<600 {
            let now = self.now + Int64(number) * 500
            let (verdict, leaseRequest) = gateway.take(rate, 1, at: now)
            #expect(number == 0 ? verdict == .unknown : verdict == .admitted)
            guard let leaseRequest else { continue }
            requests += 1
            _ = gateway.answered(leaseRequest, server.grant(leaseRequest.request, at: now), at: now)
        }
        #expect(requests <= 65)
    }

    /// Uses that are left in one gateway do not stay there for ever.
    @Test func aLeaseEnds() {
        var (server, gateway) = (Server(), leases())
        #expect(gateway.take(&server, at: self.now) == .admitted)
        let end = self.now + GatewayLimits.leaseLife.milliseconds
        #expect(gateway.take(rate, 1, at: end - 1).0 == .admitted)
        #expect(gateway.take(rate, 1, at: end).0 == .unknown)
    }

    @Test func whileRedisIsAwayTheGatewayCountsByItself() throws {
        var gateway = leases()
        let (verdict, leaseRequest) = gateway.take(rate, 1, at: self.now)
        #expect(verdict == .unknown)
        gateway.failed(try #require(leaseRequest), at: self.now)
        for _ in 0..<120 { #expect(gateway.take(rate, 1, at: self.now).0 == .admitted) }
        #expect(gateway.take(rate, 1, at: self.now).0 == .refused(500))
        // Asks again after a while, and what it has allowed meanwhile counts.
        var server = Server()
        let later = self.now + GatewayLimits.localCountingFor.milliseconds
        let again = gateway.take(rate, 1, at: later)
        #expect(again.0 == .admitted)
        let request2 = try #require(again.1)
        #expect(request2.request.uncounted == 119 * allowance.step)
        _ = gateway.answered(request2, server.grant(request2.request, at: later), at: later)
        var other = leases()
        #expect(other.take(&server, at: later) != .admitted)
    }

    /// Uses at two gateways, one after the other; then Redis is emptied, and a third gateway is asked before anybody has noticed.
    @Test func whatRedisLostIsToldAnewByThoseWhoKnow() {
        var server = Server()
        var gateways = [leases(), leases(), leases()]
        for _ in 0..<60 { #expect(gateways[0].take(&server, at: self.now) == .admitted) }
        for _ in 0..<30 { #expect(gateways[1].take(&server, at: self.now) == .admitted) }
        server.forgetEverything()
        #expect(gateways[2].take(&server, at: self.now) == .admitted)
        for index in 0..<2 {
            gateways[index].sharedCountsWereLost(at: self.now)
            for leaseRequest in gateways[index].restore(max: 10, at: self.now) {
                _ = gateways[index].answered(
                    leaseRequest, server.grant(leaseRequest.request, at: self.now), at: self.now)
            }
        }
        var count = 91
        for index in [2, 0, 1] { count += gateways[index].takeAll(&server, at: self.now) }
        #expect(count == 120)
    }

    @Test func aGatewayNoticesThatRedisHasLostWhatItKnew() throws {
        var (server, gateway) = (Server(), leases())
        _ = gateway.takeAll(&server, at: self.now)
        server.forgetEverything()
        let later = self.now + 500
        let leaseRequest = try #require(gateway.take(rate, 1, at: later).1)
        let isLost = gateway.answered(leaseRequest, server.grant(leaseRequest.request, at: later), at: later)
        #expect(isLost)
        #expect(gateway.takeAll(&server, at: later) == 1)
    }

    /// A count that came to rest and began anew was not lost.
    @Test func aCountThatCameToRestWasNotLost() throws {
        var (server, gateway) = (Server(), leases())
        for minute in 0..<5 {
            let now = self.now + Int64(minute) * 61_000
            let leaseRequest = try #require(gateway.take(rate, 1, at: now).1)
            let isLost = gateway.answered(leaseRequest, server.grant(leaseRequest.request, at: now), at: now)
            #expect(!isLost)
        }
    }

    @Test func aUseThatIsGivenBackIsThereForTheNext() {
        var (server, gateway) = (Server(), leases())
        for _ in 0..<1_000 {
            #expect(gateway.take(&server, at: self.now) == .admitted)
            gateway.giveBack(rate, 1, at: self.now)
        }
        #expect(gateway.takeAll(&server, at: self.now) == 120)
    }

    @Test func whoIsAtRestIsForgottenAndOthersAreBounded() {
        var (server, gateway) = (Server(), leases(countedMax: 10))
        #expect(gateway.take(&server, at: self.now) == .admitted)
        gateway.forgetRested(at: self.now + 59_000)
        #expect(gateway.count == 1)
        gateway.forgetRested(at: self.now + 60_000)
        #expect(gateway.count == 0)
        for subject in 0..<50 { _ = gateway.take(rate, subject, at: self.now) }
        #expect(gateway.count <= 10)
    }
}

/// An identity at several gateways; Redis answers late, or not at all, or is emptied.
private struct RateWorld {
    private enum Event {
        case request(RateLeases<Int>.LeaseRequest)
        case answer(RateLeases<Int>.LeaseRequest, RateGrant?)
    }

    static let gatewayCount = 3
    var random: SeededGenerator
    /// In 100.
    let answersLost: Int
    let isEmptied: Bool
    var now: Int64 = 5_000_000
    var server = Server()
    var gateways = (0..<Self.gatewayCount).map { _ in leases() }
    private var events: [(at: Int64, gateway: Int, event: Event)] = []
    /// Frames that wait, by gateway.
    private var waiting = [Int](repeating: 0, count: Self.gatewayCount)
    var admitted: [[Int64]] = Array(repeating: [], count: Self.gatewayCount)

    init(seed: UInt64, answersLost: Int = 0, isEmptied: Bool = false) {
        self.random = SeededGenerator(seed: seed)
        self.answersLost = answersLost
        self.isEmptied = isEmptied
    }

    private mutating func upTo(_ end: Int) -> Int { Int.random(in: 0..<end, using: &self.random) }

    private mutating func send(_ event: Event, of gateway: Int) {
        let delay = self.upTo(10) == 0 ? self.upTo(4_000) : self.upTo(20)
        self.events.append((self.now + Int64(delay), gateway, event))
    }

    private mutating func take(at gateway: Int) {
        let (verdict, leaseRequest) = self.gateways[gateway].take(rate, 1, at: self.now)
        if let leaseRequest { self.send(.request(leaseRequest), of: gateway) }
        switch verdict {
        case .admitted: self.admitted[gateway].append(self.now)
        case .refused: break
        case .unknown: self.waiting[gateway] += 1
        }
    }

    private mutating func happen(_ event: Event, at gateway: Int) {
        switch event {
        case .request(let leaseRequest):
            let grant = self.server.grant(leaseRequest.request, at: self.now)
            self.send(.answer(leaseRequest, self.upTo(100) < self.answersLost ? nil : grant), of: gateway)
        case .answer(let leaseRequest, let grant):
            if let grant {
                if self.gateways[gateway].answered(leaseRequest, grant, at: self.now) { self.noticeLoss() }
            } else {
                self.gateways[gateway].failed(leaseRequest, at: self.now)
            }
            let count = self.waiting[gateway]
            self.waiting[gateway] = 0
            for _ in 0..<count { self.take(at: gateway) }
        }
    }

    /// Each gateway tells what it knows; those words arrive before anything else does.
    private mutating func noticeLoss() {
        for gateway in 0..<Self.gatewayCount {
            self.gateways[gateway].sharedCountsWereLost(at: self.now)
            for leaseRequest in self.gateways[gateway].restore(max: 10, at: self.now) {
                _ = self.gateways[gateway].answered(
                    leaseRequest, self.server.grant(leaseRequest.request, at: self.now), at: self.now)
            }
        }
    }

    mutating func run() {
        let end = self.now + 90_000
        var home = 0
        while self.now < end {
            self.now += Int64(self.upTo(40))
            while let first = self.events.indices.min(by: { self.events[$0].at < self.events[$1].at }),
                self.events[first].at <= self.now
            {
                let (_, gateway, event) = self.events.remove(at: first)
                self.happen(event, at: gateway)
            }
            // It comes to another gateway, or is at several at a time.
            if self.upTo(20) == 0 { home = self.upTo(Self.gatewayCount) }
            for _ in 0..<self.upTo(4) { self.take(at: self.upTo(5) == 0 ? self.upTo(Self.gatewayCount) : home) }
            if self.isEmptied, self.upTo(300) == 0 {
                self.server.forgetEverything()
                self.noticeLoss()
            }
            for gateway in 0..<Self.gatewayCount {
                for leaseRequest in self.gateways[gateway].restore(max: 10, at: self.now) {
                    self.send(.request(leaseRequest), of: gateway)
                }
            }
        }
    }
}

@Suite struct RateWorldTests {
    private static let start: Int64 = 5_000_000
    private static let seeds = 0..<UInt64(Prove.isAsked ? 200 : 50)

    /// Uses that are allowed from rest until then. Reckoned in whole milliseconds.
    private static func allowed(until end: Int64) -> Double {
        (allowance.ahead + Double(end - Self.start) + 1) / allowance.step
    }

    /// At no moment more than burst and what has come back since the beginning.
    private func expectBound(_ uses: [Int64], beyond slack: Double = 0, seed: UInt64) {
        for (index, at) in uses.sorted().enumerated() where Double(index + 1) > Self.allowed(until: at) + slack {
            return #expect(Bool(false), "seed \(seed): \(index + 1) uses after \(at - Self.start) ms")
        }
    }

    @Test(arguments: Self.seeds) func noMoreThanTheRateIsAllowedHoweverSlowRedisIs(seed: UInt64) {
        var world = RateWorld(seed: seed)
        world.run()
        let uses = world.admitted.flatMap { $0 }
        self.expectBound(uses, seed: seed)
        // Wanted was more than twice of that; what it moved away from is left behind.
        #expect(Double(uses.count) > 0.75 * Self.allowed(until: world.now), "seed \(seed)")
    }

    /// Answers that were under way when Redis was emptied are told later: one chunk of each gateway.
    @Test(arguments: Self.seeds) func noMoreIsAllowedWhenRedisIsEmptied(seed: UInt64) {
        var world = RateWorld(seed: seed, isEmptied: true)
        world.run()
        let slack =
            Double(RateWorld.gatewayCount)
            * (allowance.ahead / allowance.step / GatewayLimits.leasesPerBurst).rounded(.up)
        self.expectBound(world.admitted.flatMap { $0 }, beyond: slack, seed: seed)
    }

    /// Each gateway keeps to the rate in every span of time, even if answers of Redis are lost and its counts, too.
    @Test(arguments: Self.seeds) func eachGatewayKeepsToTheRateWhenAnswersAreLost(seed: UInt64) {
        var world = RateWorld(seed: seed, answersLost: 30, isEmptied: true)
        world.run()
        for uses in world.admitted {
            var pace = Pace()
            for at in uses { #expect(pace.admit(allowance, at: Timestamp(milliseconds: at)) == nil, "seed \(seed)") }
        }
    }
}
