import AuthTestKit
import ClusterContract
import Contract
import HTTPAccess
import OperatorsCore
import Store
import Testing
import TestKit

@testable import AuthCore

/// Identities that were not seen for too long are erased (contract §20.9). The clock of the data is moved.
@Suite(.serialized, .timeLimit(.minutes(20))) struct InactivityTests {
    private let alice = TestIdentity(1)
    private let bob = TestIdentity(2)
    private let carol = TestIdentity(3)
    private let dan = TestIdentity(4)

    private func sweep(_ bench: AuthBench, days: Int64 = 90) -> InactivitySweep {
        InactivitySweep(
            pool: bench.pool, eraser: self.eraser(bench), operators: bench.operators, days: days, clock: bench.clock,
            logger: quiet)
    }

    private func eraser(_ bench: AuthBench) -> Eraser {
        Eraser(pool: bench.pool, bus: bench.bus, clock: bench.clock, logger: quiet)
    }

    /// The notice is over.
    private func pass(_ bench: AuthBench) async throws {
        _ = try await bench.pool.query(InactiveIdentities.announce(90, at: bench.clock.store))
        try await bench.sql(
            "UPDATE auth.inactivity SET since = to_timestamp(\(bench.now.milliseconds / 1_000)) - interval '1 day'")
    }

    private static func today(_ bench: AuthBench) -> String {
        "(to_timestamp(\(bench.now.milliseconds / 1_000)) AT TIME ZONE 'UTC')::date"
    }

    private func age(_ somebody: TestIdentity, _ days: Int, _ bench: AuthBench) async throws {
        try await bench.sql(
            "UPDATE auth.identities SET seen_on = \(Self.today(bench)) - \(days) WHERE whisper_id = \(somebody.id().bits)"
        )
    }

    private func remaining(_ bench: AuthBench) async throws -> Set<String> {
        Set(try await bench.sql("SELECT whisper_id FROM auth.identities").split(separator: "\n").map(String.init))
    }

    private static func ids(_ people: TestIdentity...) -> Set<String> { Set(people.map { "\($0.id().bits)" }) }

    @Test func whoIsAwayForTooLongIsErasedAndNobodyElse() async throws {
        try await AuthBench.run { bench in
            for (somebody, days) in [(self.alice, 92), (self.bob, 91), (self.carol, 90), (self.dan, 400)] {
                _ = try await bench.login(somebody)
                try await self.age(somebody, days, bench)
            }
            _ = try await bench.bans.ban(
                .identity(self.dan.id()), reason: "spam", until: nil, recording: AuditEvent(.operator, "ban"))
            try await self.pass(bench)
            // She and he are counted; his day of notice is not over.
            #expect(try await bench.pool.query(InactiveIdentities.count(90, at: bench.clock.store)) == 2)
            #expect(try await self.sweep(bench).sweep() == 1)
            #expect(try await self.remaining(bench) == Self.ids(self.bob, self.carol, self.dan))
            #expect(try await bench.sql("SELECT by, sent_mail FROM auth.erasures") == "retention|keep")
            let challenge = try await bench.challenge(self.alice)
            let answer = await bench.send(
                "register_proof", self.alice.proof(challenge.id, signing: challenge.bytes))
            #expect(answer.refusal == .authFailed && answer.reason == .erased)
            // A day later it is he, and a ban that was lifted begins her days anew.
            _ = try await bench.bans.unban(.identity(self.dan.id()), recording: AuditEvent(.operator, "unban"))
            bench.wait(.seconds(86_400))
            try await self.pass(bench)
            #expect(try await self.sweep(bench).sweep() == 1)
            #expect(try await self.remaining(bench) == Self.ids(self.carol, self.dan))
        }
    }

    /// A setting, another number, and a number that nobody has counted by for more than an hour.
    @Test func aSettingErasesNobodyForADay() async throws {
        try await AuthBench.run { bench in
            _ = try await bench.login(self.alice)
            try await self.age(self.alice, 400, bench)
            func sweeps(_ count: Int, days: Int64) async throws {
                for _ in 0..<count {
                    #expect(try await self.sweep(bench, days: days).sweep() == 0)
                    bench.wait(.seconds(3_000))
                }
            }
            try await sweeps(28, days: 90)
            try await sweeps(28, days: 100)
            // Nobody has counted for 100 minutes, or written who was seen: a session lives for a week, and then comes the day.
            bench.wait(.seconds(3_000))
            try await sweeps(231, days: 100)
            #expect(try await self.sweep(bench, days: 100).sweep() == 1)
        }
    }

    /// Two processes that count by different days. Each learns of it, so that the log says why nobody is erased.
    @Test func processesThatDisagreeAreTold() async throws {
        try await AuthBench.run { bench in
            func announce(_ days: Int64) async throws -> (isNoticed: Bool, daysBefore: Int64?) {
                try await bench.pool.query(InactiveIdentities.announce(days, at: bench.clock.store))
            }
            #expect(try await announce(90) == (false, nil))
            try await self.pass(bench)
            #expect(try await announce(90) == (true, 90))
            #expect(try await announce(100) == (false, 90))
            #expect(try await announce(90) == (false, 100))
        }
    }

    @Test func whoIsSeenInTheDayOfNoticeStays() async throws {
        try await AuthBench.run { bench in
            let renewing = try await bench.login(self.alice)
            for somebody in [self.bob, self.carol] { _ = try await bench.login(somebody) }
            for somebody in [self.alice, self.bob, self.carol] { try await self.age(somebody, 92, bench) }
            try await self.pass(bench)
            _ = try await bench.send(
                "session_refresh", AuthBench.privileged, session: renewing.session, token: renewing.token
            ).refreshed()
            _ = try await bench.login(self.bob)
            // A login between the list and the lock.
            let order = ErasureOrder(.identity(self.bob.id()), sentMail: .keep, by: .retention, unseenForDays: 91)
            let eraser = self.eraser(bench)
            let decided = try await bench.pool.persistently { transaction throws(StoreError) in
                try await eraser.erase(order, in: transaction, forget: { _ throws(StoreError) in })
            }
            #expect(decided == nil)
            #expect(try await self.sweep(bench).sweep() == 1)
            #expect(try await self.remaining(bench) == Self.ids(self.alice, self.bob))
        }
    }

    @Test func aDayIsWrittenOnce() async throws {
        try await AuthBench.run { bench in
            var login = try await bench.login(self.alice)
            func refresh() async throws -> String {
                login = try await bench.send(
                    "session_refresh", AuthBench.privileged, session: login.session, token: login.token
                ).refreshed()
                _ = try await bench.session(login.session.tokenHash)
                return try await bench.sql("SELECT seen_on, xmin FROM auth.identities")
            }
            let registered = try await bench.sql("SELECT seen_on, xmin FROM auth.identities")
            bench.wait(.seconds(86_400))
            let first = try await refresh()
            #expect(first != registered)
            #expect(try await refresh() == first)
            // A token that is worth nothing is nobody's sign of life.
            try await bench.sql("UPDATE auth.identities SET epoch = epoch + 1, seen_on = seen_on - 1")
            let before = try await bench.sql("SELECT seen_on FROM auth.identities")
            #expect(
                await bench.send(
                    "session_refresh", AuthBench.privileged, session: login.session, token: login.token
                ).refusal == .notRegistered)
            #expect(try await bench.sql("SELECT seen_on FROM auth.identities") == before)
        }
    }

    @Test func anHourHasRoomForAThousand() async throws {
        try await AuthBench.run { bench in
            let people = (UInt32(0)..<25).map { TestIdentity(number: $0) }
            for somebody in people {
                _ = try await bench.login(somebody)
                try await self.age(somebody, 100, bench)
            }
            try await self.pass(bench)
            func erased(by origin: String, _ count: Int64, secondsAgo: Int64) async throws {
                let at = bench.now.milliseconds / 1_000 - secondsAgo
                try await bench.sql(
                    """
                    INSERT INTO auth.erasures (erasure_id, sent_mail, by, decided_at, finished_at)
                    SELECT gen_random_uuid(), 'keep', '\(origin)', to_timestamp(\(at)), now()
                    FROM generate_series(1, \(count))
                    """)
            }
            try await erased(by: "person", AuthLimits.inactiveErasedPerHour, secondsAgo: 10)
            try await erased(by: "retention", AuthLimits.inactiveErasedPerHour - 2, secondsAgo: 2_000)
            #expect(try await self.sweep(bench).sweep() == 2)
            #expect(try await self.sweep(bench).sweep() == 0)
            bench.wait(.seconds(1_800))
            // Two processes at once have one bound together, and a sweep has its own.
            async let one = self.sweep(bench).sweep()
            async let two = self.sweep(bench).sweep()
            let together = try await one + two
            #expect((20...23).contains(together))
            #expect(try await self.sweep(bench).sweep() == 23 - together)
            #expect(try await self.remaining(bench).isEmpty)
        }
    }
}
