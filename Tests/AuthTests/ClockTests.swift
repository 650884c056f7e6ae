import AuthCore
import AuthTestKit
import ClusterContract
import Contract
import Foundation
import HTTPAccess
import LocalStack
import OperatorsCore
import Store
import Testing

/// A process whose clock is off by years (contract §13a, Time): what it does is judged by the database's.
@Suite(.serialized, .timeLimit(.minutes(20))) struct ClockTests {
    let alice = TestIdentity(1)
    let bob = TestIdentity(2)

    private static let tenYears = Duration.seconds(10 * 365 * 86_400)
    static let offsets = [Self.tenYears, .zero - Self.tenYears]

    private func clock(offBy offset: Duration) -> ServiceClock {
        ServiceClock(own: { .now + offset }, database: { .now })
    }

    @Test(arguments: ClockTests.offsets) func whatLivesIsNotSweptByAClockThatIsOff(offset: Duration) async throws {
        try await AuthBench.run { bench in
            // All of this as if the process's clock were right.
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            _ = try await bench.bans.ban(
                .identity(self.bob.id()), reason: "x", until: bench.now + .seconds(3_600),
                recording: AuditEvent(.operator, "ban"))
            try await bench.sql(
                """
                INSERT INTO auth.console_sessions VALUES (sha256('a'), sha256('b'), now() + interval '1 hour');
                INSERT INTO auth.reports (id, reporter, target, reason, evidence, status, created_at, reviewed_at)
                VALUES (gen_random_uuid(), \(self.alice.id().bits), \(self.bob.id().bits), 'spam', 'x', 'warned', now(), now());
                """)
            let clock = self.clock(offBy: offset)
            let directory = SessionDirectory(SessionTable(bench.pool), keys: bench.bus, clock: clock, logger: quiet)
            #expect(try await ExpirySweep(SessionTable(bench.pool), clock: clock, logger: quiet).sweep() == 0)
            let identities = IdentityAccess(pool: bench.pool, keys: bench.bus, logger: quiet)
            try await Bans(pool: bench.pool, identities: identities, bus: bench.bus, clock: clock, logger: quiet)
                .sweep()
            try await RecordSweep(
                bench.pool, configuration: OperatorsConfiguration(), clock: clock, logger: quiet
            ).sweep()
            // A new session removes the sessions that have ended.
            _ = try await ConsoleSessionTable(bench.pool).add(
                Bytes32(), mark: Bytes32(), for: .seconds(60), at: clock.store)
            #expect(
                try await bench.sql(
                    """
                    SELECT (SELECT count(*) FROM auth.sessions), (SELECT count(*) FROM auth.bans),
                        (SELECT count(*) FROM auth.identities WHERE is_banned), (SELECT count(evidence) FROM auth.reports),
                        (SELECT count(*) FROM auth.console_sessions)
                    """) == "2|1|1|1|2")
            bench.bus.forgetEverything()
            for login in [alice, bob] {
                #expect(try await directory.session(login.session.tokenHash)?.caller == login.session.caller)
                #expect(try await directory.session(login.session.tokenHash)?.caller == login.session.caller, "cached")
            }
        }
    }

    /// Begun at a process whose clock is off, proved at one whose clock is right; and the other way round.
    @Test(arguments: ClockTests.offsets) func oneLogsInAcrossProcessesWhoseClocksDiffer(offset: Duration) async throws {
        try await AuthBench.run(instances: 0) { bench in
            func registration(_ clock: ServiceClock) -> Registration {
                Registration(
                    pool: bench.pool,
                    directory: SessionDirectory(SessionTable(bench.pool), keys: bench.bus, clock: clock, logger: quiet),
                    operators: bench.operators, bus: bench.bus, clock: clock, logger: quiet)
            }
            let (off, right) = (registration(self.clock(offBy: offset)), registration(.real))
            let connection = ConnectionID(value: 1)
            for (first, second) in [(off, right), (right, off), (off, off)] {
                let begin = try frame(RegisterBegin.definition, self.alice.begin(), RegisterBegin.init)
                let challenge = try await first.begin(begin, node: bench.near, connection: connection).reply(
                    "register_challenge")
                let proof = self.alice.proof(
                    challenge["challengeId"] as! String, signing: Base64.decode(challenge["challenge"] as! String)!)
                let reaction = try await second.prove(
                    try frame(RegisterProof.definition, proof, RegisterProof.init), node: bench.near,
                    connection: connection,
                    until: .now + .seconds(10))
                guard case .answer(let answer, _) = reaction else { throw Unexpected(.stale) }
                let login = try answer.login()
                // It lives for a week from now, whatever the clock of who made it.
                let distance = login.session.expiresAt.milliseconds - (Timestamp.now + Limits.sessionTTL).milliseconds
                #expect(abs(distance) < 60_000)
                let service = SessionService(
                    pool: bench.pool,
                    directory: SessionDirectory(
                        SessionTable(bench.pool), keys: bench.bus, clock: self.clock(offBy: offset), logger: quiet),
                    clock: self.clock(offBy: offset))
                let refreshed = try await service.refresh(SessionToken(shown: login.token.utf8)!).refreshed()
                #expect(
                    try await bench.sql("SELECT count(*) FROM auth.sessions WHERE LEAST(expires_at, dies_at) > now()")
                        == "2")
                #expect(
                    abs(refreshed.session.expiresAt.milliseconds - (Timestamp.now + Limits.sessionTTL).milliseconds)
                        < 60_000)
            }
        }
    }
}
