import AuthCore
import AuthTestKit
import ClusterContract
import Contract
import Foundation
import Store
import Testing
import TestKit
import LocalStack

/// Registration by invitation, and closed (contract §20.6).
@Suite(.serialized, .timeLimit(.minutes(20))) struct InvitationTests {
    /// The answer to the proof of somebody with these keys.
    private func prove(
        _ somebody: TestIdentity, _ bench: AuthBench, as id: WhisperID? = nil, with invitation: String? = nil,
        pushToken: String? = nil, connection: UInt64 = 1
    ) async throws -> Answer {
        let challenge = try await bench.challenge(somebody, as: id, connection: connection)
        let more = [("invitation", invitation), ("pushToken", pushToken)].map { name, value in
            value.map { #","\#(name)":"\#($0)""# } ?? ""
        }.joined()
        return await bench.send(
            "register_proof", somebody.proof(challenge.id, signing: challenge.bytes, as: id, more: more),
            connection: connection)
    }

    private func choose(_ mode: RegistrationMode, _ bench: AuthBench) async throws {
        try await bench.doors { doors, now, transaction throws(StoreError) in
            try await doors.choose(mode, at: now, in: transaction)
        }
    }

    private static func identities(_ bench: AuthBench) async throws -> String {
        try await bench.sql("SELECT count(*) FROM auth.identities")
    }

    @Test func aClosedDoorLetsInWhoIsKnownAndNobodyElse() async throws {
        try await AuthBench.run { bench in
            let (alice, bob) = (TestIdentity(1), TestIdentity(2))
            let before = try await bench.send("register_begin", alice.begin()).reply("register_challenge")
            #expect(before["registration"] == nil)
            _ = try await bench.login(alice)
            for (mode, reason) in [
                (RegistrationMode.closed, RefusalReason.registrationClosed), (.invited, .invitationNeeded),
            ] {
                try await self.choose(mode, bench)
                bench.wait(.seconds(2))
                let begun = try await bench.send("register_begin", bob.begin()).reply("register_challenge")
                #expect(begun["registration"] as? String == mode.rawValue)
                // A new phone with the words, with the id and without.
                _ = try await bench.login(alice.withNewDevice())
                _ = try await bench.login(alice.withNewDevice(), as: alice.id())
                let answer = try await self.prove(bob, bench)
                #expect(answer.refusal == .forbidden && answer.reason == reason)
                #expect(try await Self.identities(bench) == "1")
            }
            try await self.choose(.open, bench)
            // An open door uses nothing up and asks nothing.
            _ = try (try await self.prove(bob, bench, with: "AAECAwQFBgcICQoLDA0ODw")).login()
            #expect(try await Self.identities(bench) == "2")
        }
    }

    /// Invitations by which nobody comes in. The door is `invited` afterwards, and has one identity.
    private func invalidInvitations(_ bench: AuthBench) async throws -> [(kind: String, token: InvitationToken)] {
        try await self.choose(.invited, bench)
        let used = try await bench.invite()
        _ = try (try await self.prove(TestIdentity(1), bench, with: used.text)).login()
        let expired = try await bench.invite(for: .seconds(60))
        bench.wait(.seconds(61))
        let revoked = try await bench.invite()
        try await bench.sql(
            "UPDATE auth.invitations SET revoked_at = now() WHERE number = (SELECT max(number) FROM auth.invitations)"
        )
        let unknown = InvitationToken(random: [UInt8](repeating: 7, count: 16))
        return [("used up", used), ("expired", expired), ("revoked", revoked), ("unknown", unknown)]
    }

    @Test func fourKindsOfInvalidInvitationsHaveOneAnswer() async throws {
        try await AuthBench.run { bench in
            var answers: Set<Refusal> = []
            for (_, token) in try await self.invalidInvitations(bench) {
                guard case .refused(let refusal) = try await self.prove(TestIdentity(2), bench, with: token.text) else {
                    Issue.record("somebody came in")
                    continue
                }
                answers.insert(refusal)
            }
            #expect(answers.count == 1)
            #expect(answers.first?.code == .forbidden && answers.first?.reason == .invitationInvalid)
            for wrong in ["AAECAwQFBgcICQoLDA0OD", "AAECAwQFBgcICQoLDA0ODz", "AAECAwQFBgcICQoLDA0O=="] {
                #expect(try await self.prove(TestIdentity(2), bench, with: wrong).refusal == .invalidPayload)
            }
            #expect(try await Self.identities(bench) == "1")
        }
    }

    /// Figures, when asked for: `WHISPER_MEASURE=1`. How long proofs take, in turn: four that are refused, at an open door, and by invitation.
    @Test(.enabled(if: ProcessInfo.processInfo.environment["WHISPER_MEASURE"] != nil))
    func howLongAProofTakes() async throws {
        try await AuthBench.run { bench in
            let refused = try await self.invalidInvitations(bench)
            let good = try await bench.invite(uses: 1_000)
            var times: [String: [Double]] = [:]
            func measure(_ kind: String, _ number: Int, _ token: InvitationToken?) async throws {
                let somebody = TestIdentity(number: UInt32(number))
                let challenge = try await bench.challenge(somebody)
                let more = token.map { #","invitation":"\#($0.text)""# } ?? ""
                let proof = somebody.proof(challenge.id, signing: challenge.bytes, more: more)
                let begin = ContinuousClock.now
                _ = await bench.send("register_proof", proof)
                times[kind, default: []].append((.now - begin) / .microseconds(1))
            }
            for round in 1...300 {
                for (kind, token) in refused.shuffled() { try await measure(kind, 1_000, token) }
                try await measure("by invitation", 10_000 + round, good)
                try await self.choose(.open, bench)
                try await measure("open", 20_000 + round, nil)
                try await self.choose(.invited, bench)
            }
            for (kind, all) in times.sorted(by: { $0.key < $1.key }) {
                let sorted = all.sorted()
                let quartiles = (1...3).map { String(Int(sorted[sorted.count * $0 / 4])) }
                print("\(kind): quartiles \(quartiles.joined(separator: ", ")) µs")
            }
        }
    }

    /// Keys that are known come in without a use; an id that is taken costs none.
    @Test func whatEndsInNoNewIdentityCostsNoUse() async throws {
        try await AuthBench.run { bench in
            let alice = TestIdentity(1)
            try await self.choose(.invited, bench)
            let token = try await bench.invite(uses: 3)
            _ = try (try await self.prove(alice, bench, with: token.text)).login()
            _ = try (try await self.prove(alice, bench, with: token.text)).login()
            _ = try (try await self.prove(alice, bench, as: alice.id(), with: token.text)).login()
            #expect(try await bench.sql("SELECT uses_left FROM auth.invitations") == "2")
        }
    }

    /// 200 at once; `WHISPER_PROVE=1` makes it 1,000.
    @Test func ofParallelUsesExactlyAsManySucceedAsThereAre() async throws {
        let count = Prove.isAsked ? 1_000 : 200
        try await AuthBench.run { bench in
            try await self.choose(.invited, bench)
            for uses in [Int64(1), 5] {
                let before = Int(try await Self.identities(bench))!
                let token = try await bench.invite(uses: uses)
                let results = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<count {
                        group.addTask {
                            let somebody = TestIdentity(number: UInt32(number) + UInt32(uses) * 10_000)
                            let answer = try await self.prove(
                                somebody, bench, with: token.text, connection: UInt64(number) + 1)
                            if case .loggedIn = answer { return true }
                            #expect(answer.reason == .invitationInvalid)
                            return false
                        }
                    }
                    return try await group.reduce(into: [Bool: Int]()) { $0[$1, default: 0] += 1 }
                }
                #expect(results == [true: Int(uses), false: count - Int(uses)])
                #expect(try await Self.identities(bench) == "\(before + Int(uses))")
            }
            #expect(try await bench.sql("SELECT sum(uses_left) FROM auth.invitations") == "0")
        }
    }

    /// After the commit of a change nobody is added by the rule of before, though many are under way.
    @Test func nobodyComesInAfterTheDoorIsClosed() async throws {
        try await AuthBench.run { bench in
            let atCommit = try await withThrowingTaskGroup(of: String?.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        let answer = try await self.prove(
                            TestIdentity(number: UInt32(number)), bench, connection: UInt64(number) + 1)
                        if case .loggedIn = answer { return nil }
                        #expect(answer.reason == .registrationClosed)
                        return nil
                    }
                }
                group.addTask {
                    try await waitUntil("somebody is in", within: .seconds(20)) {
                        try await Self.identities(bench) != "0"
                    }
                    try await self.choose(.closed, bench)
                    return try await Self.identities(bench)
                }
                return try await group.reduce(into: String?.none) { if let count = $1 { $0 = count } }
            }
            #expect(try await Self.identities(bench) == atCommit)
        }
    }

    @Test func aRefusedRegistrationTakesNobodysPushToken() async throws {
        try await AuthBench.run { bench in
            _ = try (try await self.prove(TestIdentity(1), bench, pushToken: "shared")).login()
            let holder = "SELECT whisper_id FROM auth.devices WHERE push_token = 'shared'"
            let alice = try await bench.sql(holder)
            try await self.choose(.closed, bench)
            #expect(try await self.prove(TestIdentity(2), bench, pushToken: "shared").reason == .registrationClosed)
            #expect(try await bench.sql(holder) == alice)
            // Somebody who is added takes it: the phone has another identity now.
            try await self.choose(.open, bench)
            _ = try (try await self.prove(TestIdentity(2), bench, pushToken: "shared")).login()
            let bob = try await bench.sql(holder)
            #expect(bob != alice && !bob.isEmpty)
        }
    }

    @Test func aRegistrationAndAChangeOfTheModeWaitForEachOther() async throws {
        try await AuthBench.run { bench in
            // A registration is under way.
            let shared: SQL = "SELECT pg_advisory_xact_lock_shared(hashtextextended('auth.registration', 0))"
            try await bench.collide(with: [shared]) { try await self.choose(.closed, bench) }
            // A change is under way. The registration goes by the mode that it leaves.
            let alone: SQL = "SELECT pg_advisory_xact_lock(hashtextextended('auth.registration', 0))"
            let answer = try await bench.collide(with: [alone, "UPDATE auth.registration SET mode = 'open'"]) {
                try await self.prove(TestIdentity(1), bench)
            }
            _ = try answer.login()
        }
    }

    /// A use under way is counted before the revocation, or refused after it.
    @Test func aRevocationHoldsAgainstUses() async throws {
        try await AuthBench.run { bench in
            try await self.choose(.invited, bench)
            let token = try await bench.invite(uses: 1_000)
            let atCommit = try await withThrowingTaskGroup(of: String?.self) { group in
                for number in 0..<100 {
                    group.addTask {
                        _ = try await self.prove(
                            TestIdentity(number: UInt32(number)), bench, with: token.text,
                            connection: UInt64(number) + 1)
                        return nil
                    }
                }
                group.addTask {
                    try await waitUntil("somebody is in", within: .seconds(20)) {
                        try await Self.identities(bench) != "0"
                    }
                    let id = UUIDText(try await bench.sql("SELECT invitation_id FROM auth.invitations"))!
                    try await bench.doors { doors, now, transaction throws(StoreError) in
                        _ = try await doors.revoke(id, at: now, in: transaction)
                    }
                    return try await Self.identities(bench)
                }
                return try await group.reduce(into: String?.none) { if let count = $1 { $0 = count } }
            }
            let count = try await Self.identities(bench)
            #expect(count == atCommit)
            #expect(try await bench.sql("SELECT uses_max - uses_left FROM auth.invitations") == count)
        }
    }

    @Test func endedInvitationsGoAfterThirtyDays() async throws {
        // A process would sweep, too.
        try await AuthBench.run(instances: 0) { bench in
            _ = try await bench.invite(for: .seconds(60))
            _ = try await bench.invite(for: .seconds(86_400 * 40))
            bench.wait(.seconds(86_400 * 30))
            #expect(
                try await EndedInvitations(bench.pool, keepsInviters: true).sweep(at: bench.clock.store, limit: 10) == 0
            )
            bench.wait(.seconds(61))
            #expect(
                try await EndedInvitations(bench.pool, keepsInviters: true).sweep(at: bench.clock.store, limit: 10) == 1
            )
            #expect(try await bench.sql("SELECT count(*) FROM auth.invitations") == "1")
        }
    }
}
