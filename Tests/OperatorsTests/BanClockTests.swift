import AuthTestKit
import ClusterContract
import Contract
import HTTPAccess
import OperatorsCore
import Store
import Testing

/// Bans at a process whose clock is off by years (contract §13a, Time): the database's clock judges.
@Suite(.serialized, .timeLimit(.minutes(20))) struct BanClockTests {
    let alice = TestIdentity(1)

    private static let tenYears = Duration.seconds(10 * 365 * 86_400)

    @Test(arguments: [tenYears, .zero - tenYears]) func bansEndWhenTheirOperatorSaid(offset: Duration) async throws {
        try await AuthBench.run { bench in
            _ = try await bench.login(self.alice)
            let clock = ServiceClock(own: { .now + offset }, database: { .now })
            let bans = Bans(pool: bench.pool, identities: bench.identities, bus: bench.bus, clock: clock, logger: quiet)
            let service = OperatorService(
                pool: bench.pool, identities: bench.identities, banning: bans, rateClassing: bench.rateClassing,
                keys: bench.bus, rates: RateTable(),
                clock: clock, logger: quiet)
            let http = try HTTPBench(service: service, bench)
            let id = self.alice.id()
            func ban(until end: Timestamp) async throws -> Int {
                try await http.post(
                    "/admin/ban", #"{"whisperId":"\#(id)","reason":"x","expiresAt":\#(end.milliseconds)}"#
                ).status
            }
            #expect(try await ban(until: .now - .seconds(60)) == 400)
            #expect(try await ban(until: .now + .seconds(3_600)) == 200)
            // At the console: an hour from now.
            let browser = try await ConsoleBrowser(http, token: HTTPBench.operatorToken)
            let answer = try await browser.submit(
                "/console/ban", ["whisperId": "\(id)", "reason": "x", "term": "hour"])
            #expect(answer.status == 303)
            #expect(
                try await bench.sql(
                    "SELECT expires_at BETWEEN now() + interval '59 minutes' AND now() + interval '61 minutes' FROM auth.bans"
                ) == "t")
            try await bans.sweep()
            #expect(try await bench.sql("SELECT count(*) FROM auth.bans") == "1")
            try await bench.sql("UPDATE auth.bans SET expires_at = now()")
            try await bans.sweep()
            #expect(try await bench.sql("SELECT count(*) FROM auth.bans") == "0")
        }
    }

    /// An erasure locks the identity before its ban, and a new ban may move the end.
    @Test func aBanWhoseIdentityIsLockedIsLeftToTheNextSweep() async throws {
        try await AuthBench.run { bench in
            _ = try await bench.login(self.alice)
            let id = self.alice.id()
            _ = try await bench.bans.ban(
                .identity(id), reason: "x", until: .now - .seconds(1), recording: AuditEvent(.operator, "ban"))
            try await bench.pool.withTransaction { transaction throws(StoreError) in
                try await transaction.execute("SELECT FROM auth.identities WHERE whisper_id = \(id) FOR UPDATE")
                try await bench.bans.sweep()
            }
            #expect(try await bench.sql("SELECT count(*) FROM auth.bans") == "1")
            try await bench.bans.sweep()
            #expect(try await bench.sql("SELECT count(*) FROM auth.bans") == "0")
            #expect(try await bench.sql("SELECT is_banned FROM auth.identities") == "f")
        }
    }
}
