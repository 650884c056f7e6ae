import AuthCore
import AuthTestKit
import ClusterContract
import Contract
import ServerCrypto
import Testing

/// Guests: proofs, tokens, and how long they are kept (contract §14.3).
@Suite(.serialized, .timeLimit(.minutes(20))) struct GuestTests {
    let alice = TestIdentity(1)
    let bob = TestIdentity(2)

    @Test func aProofMakesAGuestAndAToken() async throws {
        try await AuthBench.run { bench in
            let begun = try await bench.send("guest_begin", self.alice.guestBegin).reply("guest_challenge")
            #expect(Set(begun.keys) == ["challengeId", "challenge", "expiresAt"])
            #expect(begun["expiresAt"] as? Int64 == (bench.now + .seconds(60)).milliseconds)
            let challenge = try #require(Base64.decode(begun["challenge"] as! String))
            #expect(challenge.count == 32 && challenge.starts(with: "whisper-guest-v1".utf8))
            #expect(try await bench.sql("SELECT count(*) FROM auth.guests") == "0")

            let answer = await bench.send(
                "guest_proof", self.alice.guestProof(begun["challengeId"] as! String, signing: challenge))
            let (proof, ack) = (try answer.proof(), try answer.reply("guest_ack"))
            #expect(Set(ack.keys) == ["success", "guestId", "guestToken", "guestExpiresAt", "serverTime"])
            #expect(ack["success"] as? Bool == true)
            #expect(ack["guestId"] as? String == "\(self.alice.guestID)")
            #expect(ack["serverTime"] as? Int64 == bench.now.milliseconds)
            #expect(ack["guestExpiresAt"] as? Int64 == (bench.now + .seconds(86_400)).milliseconds)
            #expect(proof.token.utf8.count == 43)

            let guest = Guest(
                id: self.alice.guestID, epoch: Epoch(value: 1), tokenHash: SHA256.hash(Array(proof.token.utf8)),
                expiresAt: bench.now + .seconds(86_400), signPublicKey: self.alice.signPublicKey, isBanned: false)
            #expect(proof.guest == guest)
            #expect(try await bench.cachedGuest(guest.tokenHash) == guest)
            #expect(try await bench.guest(guest.tokenHash) == guest)
            #expect(try await bench.guest(Bytes32()) == nil)
            // Nobody has an identity by it.
            #expect(try await bench.sql("SELECT count(*) FROM auth.identities") == "0")
            #expect(
                try await bench.sql("SELECT guest_id, epoch, is_banned FROM auth.live_guests")
                    == "\(UUIDText(high: guest.id.high, low: guest.id.low))|1|f")
        }
    }

    @Test func theSameKeysAreTheSameGuestAndTheOlderTokenDies() async throws {
        try await AuthBench.run { bench in
            let first = try await bench.prove(self.alice)
            let second = try await bench.prove(self.alice, node: bench.far, connection: 9)
            #expect(second.guest.id == first.guest.id && second.token != first.token)
            #expect(second.guest.epoch == Epoch(value: 2))
            #expect(try await bench.cachedGuest(first.guest.tokenHash) == nil)
            #expect(try await bench.guest(first.guest.tokenHash) == nil)
            #expect(try await bench.guest(second.guest.tokenHash) == second.guest)
            #expect(try await bench.sql("SELECT count(*) FROM auth.guests") == "1")
            // The connection that proves knows it before the gateways hear of it: it may be the one that is replaced.
            try await bench.untilAllIsDone()
            let told = bench.listener.heard.firstIndex {
                if case .news(.guestEnded(self.alice.guestID, before: Epoch(value: 2), why: .replaced)) = $0 {
                    true
                } else {
                    false
                }
            }
            let answered = bench.listener.heard.firstIndex {
                if case .answer(bench.far, question: _, .guestProved) = $0 { true } else { false }
            }
            #expect(try #require(answered) < #require(told))
            // Half of the keys is another guest.
            let half = try await bench.prove(TestIdentity(1, encSeed: 2))
            #expect(half.guest.id != first.guest.id && half.guest.epoch == Epoch(value: 1))
        }
    }

    @Test func ofProofsThatRaceTheLastOneLives() async throws {
        try await AuthBench.run { bench in
            for round in UInt8(10)..<14 {
                let somebody = TestIdentity(round)
                let proofs = try await withThrowingTaskGroup { group in
                    for racer in 0..<6 {
                        group.addTask {
                            try await bench.prove(
                                somebody, node: racer % 2 == 0 ? bench.near : bench.far, connection: UInt64(racer))
                        }
                    }
                    return try await group.reduce(into: [AuthBench.Proof]()) { $0.append($1) }
                }
                #expect(Set(proofs.map(\.guest.epoch.value)) == Set(1...6))
                for proof in proofs {
                    let isLast = proof.guest.epoch.value == 6
                    #expect(try await (bench.cachedGuest(proof.guest.tokenHash) != nil) == isLast)
                    #expect(try await (bench.guest(proof.guest.tokenHash) != nil) == isLast)
                }
            }
        }
    }

    @Test func aChallengeIsGoodForOneProofByWhoeverGotIt() async throws {
        try await AuthBench.run { bench in
            @Sendable func refusal(_ proof: String, node: NodeID? = nil, connection: UInt64 = 1) async -> ErrorCode? {
                await bench.send("guest_proof", proof, node: node, connection: connection).refusal
            }
            // Never given out.
            #expect(
                await refusal(self.alice.guestProof("\(UUIDText.random())", signing: Array(0..<32))) == .authFailed)
            // Each misuse fails, and uses the challenge up.
            let misuses: [@Sendable (String, [UInt8]) async -> ErrorCode?] = [
                { id, bytes in await refusal(self.alice.guestProof(id, signing: bytes), connection: 2) },
                { id, bytes in await refusal(self.alice.guestProof(id, signing: bytes), node: bench.far) },
                { id, bytes in await refusal(self.bob.guestProof(id, signing: bytes)) },
                { id, bytes in await refusal(self.alice.guestProof(id, signing: Array(bytes.reversed()))) },
            ]
            for misuse in misuses {
                let challenge = try await bench.guestChallenge(self.alice)
                #expect(await misuse(challenge.id, challenge.bytes) == .authFailed)
                #expect(await refusal(self.alice.guestProof(challenge.id, signing: challenge.bytes)) == .authFailed)
            }
            // A login's challenge is none of a guest, and the other way round.
            let login = try await bench.challenge(self.alice)
            #expect(await refusal(self.alice.guestProof(login.id, signing: login.bytes)) == .authFailed)
            var challenge = try await bench.guestChallenge(self.alice)
            let proof = self.alice.proof(challenge.id, signing: challenge.bytes)
            #expect(await bench.send("register_proof", proof).refusal == .authFailed)
            // Too late: its key has ended.
            challenge = try await bench.guestChallenge(self.alice)
            try await bench.bus.delete([Keyspace.challenge(UUIDText(challenge.id)!)])
            #expect(await refusal(self.alice.guestProof(challenge.id, signing: challenge.bytes)) == .authFailed)
            #expect(try await bench.sql("SELECT count(*) FROM auth.guests") == "0")
            // Good once.
            challenge = try await bench.guestChallenge(self.alice)
            #expect(await refusal(self.alice.guestProof(challenge.id, signing: challenge.bytes)) == nil)
            #expect(await refusal(self.alice.guestProof(challenge.id, signing: challenge.bytes)) == .authFailed)
        }
    }

    @Test func losingRedisSendsNoGuestAway() async throws {
        try await AuthBench.run { bench in
            let proof = try await bench.prove(self.alice)
            bench.bus.forgetEverything()
            #expect(try await bench.cachedGuest(proof.guest.tokenHash) == nil)
            #expect(try await bench.guest(proof.guest.tokenHash) == proof.guest)
            #expect(try await bench.cachedGuest(proof.guest.tokenHash) == proof.guest)
        }
    }

    @Test func aTokenLivesForADay() async throws {
        try await AuthBench.run { bench in
            let proof = try await bench.prove(self.alice)
            bench.wait(.seconds(86_399))
            #expect(try await bench.guest(proof.guest.tokenHash) == proof.guest)
            bench.wait(.seconds(1))
            #expect(try await bench.guest(proof.guest.tokenHash) == nil)
            #expect(try await bench.cachedGuest(proof.guest.tokenHash) == nil)
            // The guest is still known.
            #expect(try await bench.prove(self.alice).guest.epoch == Epoch(value: 2))
        }
    }

    @Test func operatorsMayForgetGuestsSooner() async throws {
        try await AuthBench.run { bench in
            let guests = GuestTable(bench.pool, life: .seconds(86_400))
            _ = try await bench.prove(self.alice)
            bench.wait(.seconds(86_399))
            #expect(try await ExpirySweep(guests, clock: bench.clock, logger: quiet).sweep() == 0)
            bench.wait(.seconds(1))
            #expect(try await ExpirySweep(guests, clock: bench.clock, logger: quiet).sweep() == 1)
        }
    }

    @Test func aGuestIsForgottenNinetyDaysAfterItWasSeen() async throws {
        try await AuthBench.run { bench in
            let sweep = ExpirySweep(GuestTable(bench.pool), clock: bench.clock, logger: quiet)
            let proof = try await bench.prove(self.alice)
            for seed in UInt8(3)..<8 { _ = try await bench.prove(TestIdentity(seed)) }
            try await bench.sql(
                "UPDATE auth.guests SET is_banned = true WHERE sign_key = '\\x\(hex(TestIdentity(3).signPublicKey))'")
            bench.wait(.seconds(3_600))
            // Seen by its token.
            #expect(try await bench.guest(proof.guest.tokenHash) != nil)
            bench.wait(.seconds(90 * 86_400 - 3_601))
            #expect(try await sweep.sweep(batch: 2) == 0)
            bench.wait(.seconds(1))
            // All but those seen since and the banned one, a few at a time.
            #expect(try await sweep.sweep(batch: 2) == 4)
            bench.wait(.seconds(3_600))
            #expect(try await sweep.sweep(batch: 2) == 1)
            #expect(try await bench.sql("SELECT is_banned FROM auth.guests") == "t")
        }
    }

    private func hex(_ key: Bytes32) -> String { Hexadecimal.text(key.bytes) }
}

@Suite struct ProofChallengeTests {
    let alice = TestIdentity(1)
    let start = Timestamp(milliseconds: 1_000)

    private func challenge(_ begin: String? = nil) throws -> ProofChallenge {
        ProofChallenge(
            for: try frame(GuestBegin.definition, begin ?? self.alice.guestBegin, GuestBegin.init),
            node: NodeID(value: 1), connection: ConnectionID(value: 2), random: Array(0..<16), at: self.start)
    }

    private func fault(
        _ challenge: ProofChallenge, node: UInt64 = 1, connection: UInt64 = 2
    ) throws
        -> ProofChallenge.Fault?
    {
        let proof = try frame(
            GuestProof.definition, self.alice.guestProof("\(UUIDText.random())", signing: challenge.bytes.bytes),
            GuestProof.init)
        do throws(ProofChallenge.Fault) {
            try challenge.check(proof, node: NodeID(value: node), connection: ConnectionID(value: connection))
            return nil
        } catch {
            return error
        }
    }

    @Test func isBoundToItsConnectionAndItsMinute() throws {
        let challenge = try self.challenge()
        #expect(challenge.bytes.bytes == Array("whisper-guest-v1".utf8) + Array(0..<16))
        #expect(challenge.expiresAt == self.start + .seconds(60))
        #expect(challenge.guest == self.alice.guestID)
        #expect(try self.fault(challenge) == nil)
        #expect(try self.fault(challenge, node: 3) == .foreignConnection)
        #expect(try self.fault(challenge, connection: 3) == .foreignConnection)
        #expect(try ProofChallenge(decoding: challenge.encoded()) == challenge)
    }

    @Test func aSignatureByOtherKeysDoesNotFit() throws {
        #expect(try self.fault(self.challenge(TestIdentity(2).guestBegin)) == .badSignature)
    }

    /// Keys of low order, and other spellings of good ones.
    @Test func weakAndMisspelledKeysAreRefused() throws {
        let zero = base64([UInt8](repeating: 0, count: 32))
        let one = base64([1] + [UInt8](repeating: 0, count: 31))
        let misspelled = base64(self.alice.encPublicKey.bytes.dropLast() + [self.alice.encPublicKey.bytes[31] | 0x80])
        let beyond = base64([0xF6] + [UInt8](repeating: 0xFF, count: 30) + [0x7F])
        let (enc, sign) = (base64(self.alice.encPublicKey.bytes), base64(self.alice.signPublicKey.bytes))
        for (key, weak) in [
            (enc, zero), (enc, one), (enc, misspelled), (enc, beyond), (sign, zero), (sign, one),
        ] {
            let bad = self.alice.guestBegin.replacing(key, with: weak)
            #expect(bad != self.alice.guestBegin)
            #expect(try self.fault(self.challenge(bad)) == .unusableKey)
        }
    }
}
