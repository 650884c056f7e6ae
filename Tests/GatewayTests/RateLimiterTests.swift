import Bus
import ClusterContract
import Contract
import TestKit
import Testing

/// Counting while Redis is away (contract §11).
@Suite(.timeLimit(.minutes(20))) struct RateLimiterTests {
    private let bus = MemoryBus()

    /// One process of the cluster. Each rate admits one use, and the next is far away: no test takes so long.
    private func process() -> RateLimiter { RateLimiter(bus: self.bus, rates: RateTable(scale: 1 / 1_024)) }

    @Test func loginsAndOperatorsAreRefusedWhileRedisIsAway() async {
        let closed = Rates.all.filter(\.failsClosed)
        #expect(
            closed.map(\.action).sorted() == [
                "account", "account_export", "admin", "exports", "guest", "invitations", "register", "room_guess",
                "room_guess_address", "server",
            ])
        let process = self.process()
        self.bus.goAway()
        for rate in closed {
            for key in ["one", "another"] {
                let wait = await process.admit(rate, key)
                #expect(wait ?? 0 > 0, "\(rate.action)")
            }
        }
        // Nothing of that was counted.
        self.bus.comeBack()
        for rate in closed { #expect(await process.admit(rate, "one") == nil, "\(rate.action)") }
    }

    @Test func everythingElseIsCountedByEachProcessWhileRedisIsAway() async {
        let processes = [self.process(), self.process()]
        self.bus.goAway()
        for rate in Rates.all where !rate.failsClosed {
            for process in processes {
                for key in ["one", "another"] {
                    #expect(await process.admit(rate, key) == nil, "\(rate.action)")
                    let wait = await process.admit(rate, key)
                    #expect(wait ?? 0 > 0, "\(rate.action)")
                }
            }
        }
    }

    @Test func aMinutesWorthMayBeUsedAtOnceWhileRedisIsAway() async {
        let process = RateLimiter(bus: self.bus, rates: RateTable())
        let perMinute = Rates.keys.uses
        self.bus.goAway()
        var uses = 0
        var wait: Int64?
        // A minute gives as many again: whoever takes less than that is refused on the way.
        while wait == nil, uses <= 2 * perMinute {
            wait = await process.admit(Rates.keys, "somebody")
            if wait == nil { uses += 1 }
        }
        #expect(uses >= perMinute)
        #expect((1...1_000).contains(wait ?? 0))
    }

    @Test func whenRedisIsBackItCountsAgain() async {
        let (one, other) = (self.process(), self.process())
        #expect(await one.admit(Rates.keys, "somebody") == nil)
        #expect(await other.admit(Rates.keys, "somebody") != nil)
        self.bus.goAway()
        for process in [one, other] {
            for key in ["somebody", "newcomer"] {
                #expect(await process.admit(Rates.keys, key) == nil)
                #expect(await process.admit(Rates.keys, key) != nil)
            }
        }
        self.bus.comeBack()
        // Redis knows what it knew, and nothing of what was counted elsewhere.
        for process in [one, other] { #expect(await process.admit(Rates.keys, "somebody") != nil) }
        #expect(await one.admit(Rates.keys, "newcomer") == nil)
        #expect(await other.admit(Rates.keys, "newcomer") != nil)
        self.bus.forgetEverything()
        #expect(await other.admit(Rates.keys, "somebody") == nil)
        #expect(await one.admit(Rates.keys, "somebody") != nil)
    }

    @Test func whatAProcessCountsIsBounded() async {
        let process = self.process()
        self.bus.goAway()
        var refused = 0
        for number in 0..<RateLimiter.countedMax where await process.admit(Rates.keys, "\(number)") != nil {
            refused += 1
        }
        #expect(refused == 0)
        #expect(await process.admit(Rates.keys, "0") != nil)
        // One more than can be counted, and nobody is at rest: all are forgotten, and nobody is refused for it.
        #expect(await process.admit(Rates.keys, "newcomer") == nil)
        #expect(await process.admit(Rates.keys, "0") == nil)
        #expect(await process.admit(Rates.keys, "newcomer") != nil)
    }
}
