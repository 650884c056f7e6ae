import AuthCore
import AuthTestKit
import ClusterContract
import Contract
import LocalStack
import Store
import Synchronization
import TestKit
import Testing

/// People leave for good (contract §20.2, §20.4).
@Suite(.serialized, .timeLimit(.minutes(20))) struct LeavingTests {
    private let alice = TestIdentity(1)
    private let bob = TestIdentity(2)

    private func sweep(_ bench: AuthBench) -> ErasureSweep<AuthErasedRows> {
        ErasureSweep(
            AuthErasedRows(bench.pool, operators: bench.operators), pool: bench.pool, settledAfter: .zero, logger: quiet
        )
    }

    /// The answer to a proof of these keys, and its reason.
    private func prove(
        _ somebody: TestIdentity, _ bench: AuthBench, as id: WhisperID? = nil, connection: UInt64 = 1
    ) async throws -> Answer {
        let challenge = try await bench.challenge(somebody, connection: connection)
        return await bench.send(
            "register_proof", somebody.proof(challenge.id, signing: challenge.bytes, as: id), connection: connection)
    }

    @Test func whoeverLeavesIsErasedAndNeverComesBack() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice, more: #","pushToken":"push-1""#)
            let answer = try await bench.leave(self.alice, login.session)
            let erasure = try answer.reply("account_deleted")["erasureId"] as? String
            guard case .loggedOut = answer else { throw Unexpected(answer) }
            for table in ["identities", "devices", "sessions"] {
                #expect(try await bench.sql("SELECT count(*) FROM auth.\(table)") == "0", "\(table)")
            }
            #expect(try await bench.isCached(login.session.tokenHash) == false)
            #expect(try await bench.session(login.session.tokenHash) == nil)
            #expect(try await bench.sql("SELECT erasure_id FROM auth.erasures WHERE by = 'person'") == erasure)
            #expect(try await bench.sql("SELECT count(*) FROM auth.tombstones") == "3")
            // Only who has the keys can tell the id from one that never was.
            #expect(await bench.send("register_begin", self.alice.begin(as: self.alice.id())).refusal == .notFound)
            for id in [nil, self.alice.id()] {
                let refused = try await self.prove(self.alice, bench, as: id)
                #expect(refused.refusal == .authFailed && refused.reason == .erased)
            }
            // Either key alone is refused too.
            for (sign, enc) in [(UInt8(1), UInt8(3)), (3, 1)] {
                let mixed = try await self.prove(TestIdentity(sign, encSeed: enc), bench)
                #expect(mixed.refusal == .authFailed && mixed.reason == .erased)
            }
            _ = try await bench.login(self.bob)
        }
    }

    @Test func nothingButTheOwnSignatureOverAFreshChallengeErases() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            _ = try await bench.login(self.bob)
            let session = login.session
            func isRefused(
                _ code: ErrorCode, _ erase: ((id: String, bytes: [UInt8])) async throws -> Answer
            ) async throws {
                let challenge = try await bench.erasureChallenge(session)
                #expect(try await erase(challenge).refusal == code)
                // A failed attempt has used it up.
                #expect(await bench.erase(self.alice, session, challenge).refusal == .authFailed)
            }
            try await isRefused(.forbidden) { await bench.erase(self.alice, session, $0, as: self.bob.id()) }
            try await isRefused(.authFailed) { await bench.erase(self.bob, session, $0) }
            try await isRefused(.authFailed) { await bench.erase(self.alice, session, $0, connection: 2) }
            try await isRefused(.authFailed) { await bench.erase(self.alice, session, $0) { $0 + [0] } }
            try await isRefused(.authFailed) {
                await bench.erase(self.alice, session, (UUIDText.random().description, $0.bytes))
            }
            // A new challenge takes the place of the one before.
            let first = try await bench.erasureChallenge(session)
            let second = try await bench.erasureChallenge(session)
            #expect(await bench.erase(self.alice, session, first).refusal == .authFailed)
            #expect(await bench.erase(self.alice, session, second).refusal == .authFailed)
            // A login in between ends the epoch of the challenge.
            let challenge = try await bench.erasureChallenge(session)
            let again = try await bench.login(self.alice)
            #expect(await bench.erase(self.alice, again.session, challenge).refusal == .authFailed)
            let late = try await bench.erasureChallenge(again.session)
            try await bench.sql(
                "UPDATE auth.identities SET epoch = epoch + 1 WHERE whisper_id = \(self.alice.id().bits)")
            #expect(await bench.erase(self.alice, again.session, late).isStale)
            #expect(try await bench.sql("SELECT count(*) FROM auth.identities") == "2")
            #expect(try await bench.sql("SELECT count(*) FROM auth.tombstones") == "0")
        }
    }

    @Test func reportsBansAndTheAuditLogForgetThePerson() async throws {
        try await AuthBench.run { bench in
            try await bench.addRouter()
            let login = try await bench.login(self.alice)
            let other = try await bench.login(self.bob)
            func report(_ session: Session, _ target: TestIdentity) async throws {
                let fields = #","targetId":"\#(target.id())","reason":"spam","note":"since Monday""#
                _ = try await bench.send(
                    "report", AuthBench.privileged.dropLast() + fields + "}", session: session
                ).reply("report_ack")
            }
            try await report(login.session, self.bob)
            try await report(other.session, self.alice)
            try await bench.sql(
                """
                INSERT INTO auth.audit_events (at, actor, action, target, result, note) VALUES
                    (now(), 'operator', 'ban', '\(self.alice.id())', 'ok', 'for spam'),
                    (now(), 'operator', 'ban', '\(self.bob.id())', 'ok', 'wrote to \(self.alice.id())')
                """)
            _ = try await bench.leave(self.alice, login.session).reply("account_deleted")
            #expect(
                try await bench.sql("SELECT reporter IS NULL, note IS NULL, reason, status FROM auth.reports")
                    == "t|t|spam|open")
            #expect(
                try await bench.sql("SELECT target, note IS NULL FROM auth.audit_events ORDER BY number")
                    == "erased|t\n\(self.bob.id())|f")
            // A note of another event names her until the sweep reads the whole log.
            let sweep = self.sweep(bench)
            try await sweep.sweep()
            try await sweep.sweep()
            #expect(try await bench.sql("SELECT count(*) FROM auth.audit_events WHERE note IS NOT NULL") == "0")
            #expect(try await bench.sql("SELECT done FROM auth.erasures") == "{auth}")
        }
    }

    @Test func aProfileGoesWithItsLastMemberAndStaysWithAnother() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            _ = try await bench.login(self.bob)
            let (alone, shared) = (UUIDText.random(), UUIDText.random())
            try await bench.sql(
                """
                INSERT INTO auth.profiles (profile_id, join_hash) SELECT p, sha256('') FROM unnest('{\(alone),\(shared)}'::uuid[]) p;
                INSERT INTO auth.profile_members VALUES ('\(alone)', \(self.alice.id().bits), now()),
                    ('\(shared)', \(self.alice.id().bits), now()), ('\(shared)', \(self.bob.id().bits), now())
                """)
            _ = try await bench.leave(self.alice, login.session).reply("account_deleted")
            #expect(try await bench.sql("SELECT profile_id FROM auth.profiles") == "\(shared)")
            #expect(
                try await bench.sql("SELECT whisper_id FROM auth.profile_members") == "\(self.bob.id().bits)")
        }
    }

    /// A guest leaves no tombstone: the same keys are a new guest, once the erasure of the one before is done.
    @Test func aGuestThatIsForgottenIsGoneAtOnce() async throws {
        try await AuthBench.run { bench in
            let proof = try await bench.prove(self.alice)
            try await bench.sql(
                """
                INSERT INTO auth.audit_events (at, actor, action, target, result, note)
                VALUES (now(), 'operator', 'unban', '\(self.alice.guestID)', 'ok', 'a mistake')
                """)
            let frame = #"{"protocolVersion":1,"cryptoVersion":1}"#
            func forget(_ token: String) async -> Answer { await bench.send("guest_forget", frame, token: token) }
            #expect(await forget("x").refusal == .notRegistered)
            let answer = await forget(proof.token)
            #expect(try answer.reply("guest_forgotten")["success"] as? Bool == true)
            guard case .loggedOut = answer else { throw Unexpected(answer) }
            #expect(try await bench.guest(proof.guest.tokenHash) == nil)
            #expect(try await bench.cachedGuest(proof.guest.tokenHash) == nil)
            #expect(await forget(proof.token).refusal == .notRegistered)
            let state = "SELECT by, whisper_id IS NULL, guest_id IS NOT NULL, done FROM auth.erasures"
            #expect(try await bench.sql(state) == "guest|t|t|{router,ledger,calls,push,attachments}")
            #expect(try await bench.sql("SELECT count(*) FROM auth.tombstones") == "0")
            #expect(try await bench.sql("SELECT target, note IS NULL FROM auth.audit_events") == "erased|t")
            // Room for guests is used until the erasure is done: nobody fills the table.
            try await GuestTable(bench.pool).recount(olderThan: .zero)
            #expect(try await GuestTable(bench.pool).counted() == AuthLimits.guestBytes)
            // Services could not tell its new rows from the old ones.
            let challenge = try await bench.guestChallenge(self.alice)
            let early = await bench.send(
                "guest_proof", self.alice.guestProof(challenge.id, signing: challenge.bytes))
            #expect(early.refusal == .rateLimited)
            // One whose proof was under way at the commit goes with the second pass, banned or not.
            try await bench.sql(
                """
                INSERT INTO auth.guests (guest_id, sign_key, enc_key, epoch, token_hash, expires_at, seen_at)
                SELECT guest_id, sha256('1'), sha256('2'), 1, sha256('3'), now(), now() FROM auth.erasures;
                INSERT INTO auth.guest_bans (guest_id, reason, created_at) SELECT guest_id, 'spam', now() FROM auth.guests
                """)
            let sweep = self.sweep(bench)
            try await sweep.sweep()
            #expect(try await bench.sql("SELECT count(*) FROM auth.guests") == "0")
            try await sweep.sweep()
            for part in ["live", "rooms"] {
                try await bench.sql("SELECT auth.finish_erasure(erasure_id, '\(part)') FROM auth.erasures")
            }
            #expect(
                try await bench.sql("SELECT guest_id IS NULL, finished_at IS NOT NULL FROM auth.erasures") == "t|t")
            // A guest can ask as often as it likes: no row stays.
            #expect(try await FinishedErasures(bench.pool).sweep(at: .at(.now), limit: 10) == 1)
            #expect(try await bench.prove(self.alice).guest.epoch == GuestTable.firstEpoch)
        }
    }

    /// A guest that is gone at the commit, and an erasure that the statement cannot have seen when it began.
    @Test func aProofUnderWayBringsNoGuestBack() async throws {
        try await AuthBench.run { bench in
            _ = try await bench.prove(self.alice)
            let challenge = try await bench.guestChallenge(self.alice)
            let proof = self.alice.guestProof(challenge.id, signing: challenge.bytes)
            let answer = try await bench.collide(with: [
                "DELETE FROM auth.guests",
                """
                INSERT INTO auth.erasures (erasure_id, guest_id, sent_mail, by, decided_at)
                VALUES (gen_random_uuid(), \(self.alice.guestID), 'keep', 'guest', now())
                """,
            ]) { await bench.send("guest_proof", proof) }
            #expect(answer.refusal == .rateLimited)
            #expect(try await bench.sql("SELECT count(*) FROM auth.guests") == "0")
        }
    }

    /// Strangers make as many of these as they like.
    @Test func aGuestsOwnErasureIsNeverLate() async throws {
        try await AuthBench.run { bench in
            func oldest() async throws -> Int64 {
                try await FinishedErasures(bench.pool).open(at: .at(.now)).oldestSeconds
            }
            try await bench.sql(
                """
                INSERT INTO auth.erasures (erasure_id, guest_id, sent_mail, by, decided_at)
                VALUES (gen_random_uuid(), gen_random_uuid(), 'keep', 'guest', now() - interval '1 day')
                """)
            #expect(try await FinishedErasures(bench.pool).open(at: .at(.now)).count == 1)
            #expect(try await oldest() == 0)
            try await bench.sql("UPDATE auth.erasures SET by = 'operator'")
            #expect(try await oldest() > 80_000)
        }
    }

    @Test func aBannedGuestIsNotForgotten() async throws {
        try await AuthBench.run { bench in
            let proof = try await bench.prove(self.alice)
            try await bench.sql("UPDATE auth.guests SET is_banned = true")
            let answer = await bench.send(
                "guest_forget", #"{"protocolVersion":1,"cryptoVersion":1}"#, token: proof.token)
            #expect(answer.refusal == .userBanned)
            #expect(try await bench.sql("SELECT count(*) FROM auth.guests") == "1")
        }
    }

    /// An erasure locks the identity before its sessions.
    @Test func aRenewalThatWaitsForAnErasureHoldsNoSession() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            let id = self.alice.id()
            let answer = try await bench.collide(
                with: ["SELECT FROM auth.identities WHERE whisper_id = \(id) FOR UPDATE"],
                then: ["SELECT FROM auth.sessions WHERE whisper_id = \(id) FOR UPDATE NOWAIT"]
            ) {
                await bench.send("session_refresh", AuthBench.privileged, session: login.session, token: login.token)
            }
            _ = try answer.refreshed()
        }
    }

    @Test func theStatementThatEntersTheLastPartEmptiesTheID() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            _ = try await bench.leave(self.alice, login.session).reply("account_deleted")
            let parts = try await bench.sql("SELECT unnest(auth.erasure_parts())").split(separator: "\n").map(
                String.init)
            #expect(Set(parts) == Set(ErasurePart.allCases.map(\.rawValue) + ["ledger"]))
            for part in parts {
                #expect(try await bench.sql("SELECT whisper_id IS NOT NULL FROM auth.erasures") == "t")
                for _ in 0..<2 {
                    try await bench.sql("SELECT auth.finish_erasure(erasure_id, '\(part)') FROM auth.erasures")
                }
            }
            #expect(
                try await bench.sql(
                    "SELECT whisper_id IS NULL, finished_at IS NOT NULL, cardinality(done) = \(parts.count) FROM auth.erasures"
                ) == "t|t|t")
            #expect(try await bench.sql("SELECT count(*) FROM auth.erasures_open") == "0")
            let later = StoreTime.at(.now + .seconds(401 * 86_400))
            #expect(try await FinishedErasures(bench.pool).sweep(at: later, limit: 10) == 1)
        }
    }

    /// A transaction from before the decision may write behind a pass. So a part is done by a pass that found nothing once the erasure was
    /// settled, and by no other.
    @Test func aPassBeforeTheErasureIsSettledEndsNothing() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            _ = try await bench.leave(self.alice, login.session).reply("account_deleted")
            let rows = ScriptedRows()
            let sweep = ErasureSweep(rows, pool: bench.pool, logger: quiet)
            func isDone(after found: ErasedCount) async throws -> Bool {
                rows.found.withLock { $0 = found }
                try await sweep.sweep()
                return try await bench.sql("SELECT 'push' = ANY (done) FROM auth.erasures") == "t"
            }
            #expect(try await isDone(after: .nothing) == false)
            // The clock of the data is moved.
            let seconds = ErasureLimits.settledAfter.components.seconds
            try await bench.sql("UPDATE auth.erasures SET decided_at = now() - interval '\(seconds - 60) seconds'")
            #expect(try await isDone(after: .nothing) == false)
            try await bench.sql("UPDATE auth.erasures SET decided_at = now() - interval '\(seconds + 1) seconds'")
            #expect(try await isDone(after: ErasedCount(removed: 1)) == false)
            #expect(try await isDone(after: ErasedCount(removed: 0, waiting: 1)) == false)
            #expect(try await isDone(after: .nothing))
        }
    }

    /// Logins with and without the id, on other devices, while the person leaves. In each order the keys are nobody's afterwards.
    @Test func noLoginBringsSomebodyBackWhoLeaves() async throws {
        try await AuthBench.run { bench in
            var erasures = 0
            for round in UInt32(0)..<100 {
                let somebody = TestIdentity(number: round)
                let login = try await bench.login(somebody)
                let challenge = try await bench.erasureChallenge(login.session)
                let erased = try await withThrowingTaskGroup(of: Bool.self) { group in
                    group.addTask {
                        let answer = await bench.erase(somebody, login.session, challenge)
                        return (try? answer.reply("account_deleted")) != nil
                    }
                    for device in UInt64(0)..<3 {
                        group.addTask {
                            let id = device == 1 ? somebody.id() : nil
                            let answer = try await self.prove(
                                somebody.withNewDevice(), bench, as: id, connection: 10 + device)
                            #expect(answer.refusal == nil || answer.reason == .erased, "\(answer)")
                            return false
                        }
                    }
                    return try await group.reduce(false) { $0 || $1 }
                }
                if erased { erasures += 1 }
                let isThere = try await bench.sql(
                    "SELECT count(*) FROM auth.identities WHERE whisper_id = \(somebody.id().bits)")
                // A login before it ends the session that has signed.
                #expect(isThere == (erased ? "0" : "1"))
                let last = try await self.prove(somebody, bench)
                #expect(erased ? last.reason == .erased : last.refusal == nil)
            }
            #expect(erasures > 0)
            #expect(
                try await bench.sql("SELECT 3 * count(*) FROM auth.erasures")
                    == bench.sql("SELECT count(*) FROM auth.tombstones"))
        }
    }
}

/// Rows of an owner that finds what a test says.
private final class ScriptedRows: ErasedRows {
    static let part = ErasurePart.push
    let found = Mutex(ErasedCount.nothing)

    func erase(_ erasure: OpenErasure) async throws(StoreError) -> ErasedCount { self.found.withLock { $0 } }
}
