import AuthCore
import AuthTestKit
import ClusterContract
import Contract
import ServerCrypto
import Testing

@Suite(.serialized, .timeLimit(.minutes(20))) struct RegistrationTests {
    let alice = TestIdentity(1)

    /// However small the tables were when its statements were planned.
    @Test func aLoginReadsNoTableWhole() async throws {
        try await AuthBench.run { bench in
            func scans() async throws -> String {
                _ = try await bench.pool.query("SELECT pg_stat_force_next_flush()")
                return try await bench.sql(
                    """
                    SELECT sum(seq_scan) FROM pg_stat_user_tables
                    WHERE schemaname = 'auth' AND relname IN ('identities', 'devices', 'sessions')
                    """)
            }
            _ = try await bench.login(self.alice)
            let before = try await scans()
            for number in UInt8(2)...9 { _ = try await bench.login(TestIdentity(number)) }
            _ = try await bench.login(self.alice)
            #expect(try await scans() == before)
        }
    }

    @Test func aLoginMakesAnIdentityASessionAndADevice() async throws {
        try await AuthBench.run { bench in
            let begun = try await bench.send("register_begin", self.alice.begin()).reply("register_challenge")
            #expect(Set(begun.keys) == ["challengeId", "challenge", "expiresAt"])
            #expect(begun["expiresAt"] as? Int64 == (bench.now + .seconds(60)).milliseconds)
            let challenge = try #require(Base64.decode(begun["challenge"] as! String))
            #expect(challenge.count == 32 && challenge.starts(with: "whisper-register".utf8))

            let proof = self.alice.proof(
                begun["challengeId"] as! String, signing: challenge,
                more: #","pushToken":"push-1","voipToken":"voip-1""#)
            let answer = await bench.send("register_proof", proof)
            let login = try answer.login()
            let ack = try answer.reply("register_ack")
            #expect(Set(ack.keys) == ["success", "whisperId", "sessionToken", "sessionExpiresAt", "serverTime"])
            #expect(ack["success"] as? Bool == true)
            #expect(ack["whisperId"] as? String == "\(self.alice.id())")
            #expect(ack["serverTime"] as? Int64 == bench.now.milliseconds)
            #expect(ack["sessionExpiresAt"] as? Int64 == (bench.now + .seconds(7 * 86_400)).milliseconds)
            #expect(login.token.utf8.count == 43)

            let session = Session(
                caller: Caller(identity: self.alice.id(), epoch: Epoch(value: 1)), device: self.alice.device,
                platform: .ios, tokenHash: SHA256.hash(Array(login.token.utf8)),
                expiresAt: bench.now + .seconds(7 * 86_400), signPublicKey: self.alice.signPublicKey, isBanned: false)
            #expect(login.session == session)
            #expect(try await bench.session(session.tokenHash) == session)
            #expect(try await bench.isCached(session.tokenHash))
            #expect(try await bench.session(Bytes32()) == nil)

            #expect(
                try await bench.sql("SELECT platform, push_token, voip_token FROM auth.push_tokens")
                    == "ios|push-1|voip-1")
            #expect(try await bench.sql("SELECT epoch, is_banned FROM auth.mail_identities") == "1|f")
            #expect(
                try await bench.sql("SELECT auth.whisper_id_text(whisper_id) FROM auth.identities")
                    == "\(self.alice.id())")
        }
    }

    /// Clients that say what they are, and older ones that do not.
    @Test func theKindOfAClientIsKept() async throws {
        try await AuthBench.run { bench in
            let kind =
                "SELECT coalesce(client, '-') FROM auth.devices ORDER BY whisper_id = \(self.alice.id().bits) DESC"
            _ = try await bench.login(self.alice, more: #","client":"terminal""#)
            _ = try await bench.login(TestIdentity(200))
            #expect(try await bench.sql(kind) == "terminal\n-")
            // Another kind; tokens alone, and a login that says nothing, change none.
            _ = try await bench.login(self.alice, more: #","client":"daemon""#)
            #expect(try await bench.sql(kind) == "daemon\n-")
            let again = try await bench.login(self.alice, more: #","pushToken":"p1""#)
            let update = #"{"protocolVersion":1,"cryptoVersion":1,"pushToken":"p2"}"#
            _ = await bench.send("update_tokens", update, session: again.session)
            #expect(
                try await bench.sql("SELECT client, push_token FROM auth.devices WHERE push_token IS NOT NULL")
                    == "daemon|p2")
            // The statement of the release before, whose processes run beside this one during an upgrade.
            try await bench.sql(
                """
                INSERT INTO auth.devices AS mine (whisper_id, device_id, platform, push_token, voip_token, updated_at)
                SELECT whisper_id, device_id, 'android', NULL, NULL, now() FROM auth.devices
                ON CONFLICT (whisper_id, device_id) DO UPDATE SET platform = excluded.platform
                """)
            #expect(try await bench.sql(kind) == "daemon\n-")
            _ = try await bench.login(self.alice.withNewDevice())
            #expect(try await bench.sql(kind) == "-\n-")
        }
    }

    @Test func theSeedAloneRestoresTheIdentity() async throws {
        try await AuthBench.run { bench in
            let first = try await bench.login(self.alice, more: #","pushToken":"old""#)
            let second = try await bench.login(self.alice.withNewDevice(), node: bench.far, connection: 9)
            #expect(second.session.caller == Caller(identity: self.alice.id(), epoch: Epoch(value: 2)))
            #expect(second.token != first.token)
            // Nothing is left of the older login.
            #expect(try await bench.isCached(first.session.tokenHash) == false)
            #expect(try await bench.session(first.session.tokenHash) == nil)
            #expect(try await bench.session(second.session.tokenHash) == second.session)
            #expect(try await bench.sql("SELECT count(*) FROM auth.push_tokens") == "0")
            #expect(try await bench.sql("SELECT count(*) FROM auth.sessions") == "1")
            // The connection that logs in knows it before the gateways hear of it: it may be the one that is replaced.
            try await bench.untilAllIsDone()
            let told = bench.listener.heard.firstIndex {
                if case .news(.sessionsEnded(self.alice.id(), before: Epoch(value: 2), why: .replaced)) = $0 {
                    true
                } else {
                    false
                }
            }
            let answered = bench.listener.heard.firstIndex {
                if case .answer(bench.far, question: _, .loggedIn) = $0 { true } else { false }
            }
            #expect(try #require(answered) < #require(told))
            // With its id it is the same.
            let third = try await bench.login(self.alice, as: self.alice.id())
            #expect(third.session.caller == Caller(identity: self.alice.id(), epoch: Epoch(value: 3)))
        }
    }

    @Test func ofLoginsThatRaceTheLastOneLives() async throws {
        try await AuthBench.run { bench in
            for round in UInt8(10)..<18 {
                let somebody = TestIdentity(round)
                // Also the very first login of these keys.
                let logins = try await withThrowingTaskGroup { group in
                    for racer in 0..<6 {
                        group.addTask {
                            try await bench.login(
                                somebody.withNewDevice(), node: racer % 2 == 0 ? bench.near : bench.far,
                                connection: UInt64(racer), more: #","pushToken":"the same phone""#)
                        }
                    }
                    return try await group.reduce(into: [AuthBench.Login]()) { $0.append($1) }
                }
                #expect(Set(logins.map(\.session.caller.identity)) == [somebody.id()])
                #expect(Set(logins.map(\.session.caller.epoch.value)) == Set(1...6))
                for login in logins {
                    let isLast = login.session.caller.epoch.value == 6
                    #expect(try await (bench.session(login.session.tokenHash) != nil) == isLast)
                    #expect(try await (bench.directory.session(login.session.tokenHash) != nil) == isLast)
                }
            }
            #expect(try await bench.sql("SELECT count(*) FROM auth.identities") == "8")
            #expect(try await bench.sql("SELECT count(*) FROM auth.devices WHERE push_token IS NOT NULL") == "1")
        }
    }

    @Test func aTakenIdMakesTheCounterGrow() async throws {
        try await AuthBench.run { bench in
            for counter in UInt8(0)..<3 {
                let key = "decode(repeat('\(counter + 10)', 32), 'hex')"
                try await bench.sql(
                    "INSERT INTO auth.identities VALUES (\(self.alice.id(counter: counter).bits), \(key), \(key), 1)")
            }
            #expect(try await bench.login(self.alice).session.caller.identity == self.alice.id(counter: 3))
            #expect(try await bench.login(self.alice).session.caller.identity == self.alice.id(counter: 3))
        }
    }

    @Test func aChallengeIsGoodForOneProofByWhoeverGotIt() async throws {
        try await AuthBench.run { bench in
            @Sendable func refusal(_ proof: String, node: NodeID? = nil, connection: UInt64 = 1) async -> ErrorCode? {
                await bench.send("register_proof", proof, node: node, connection: connection).refusal
            }
            // Never given out.
            #expect(await refusal(self.alice.proof("\(UUIDText.random())", signing: Array(0..<32))) == .authFailed)
            // Each misuse fails, and uses the challenge up.
            var mallory = self.alice.withNewDevice()
            let misuses: [@Sendable (String, [UInt8]) async -> ErrorCode?] = [
                { id, bytes in await refusal(self.alice.proof(id, signing: bytes), connection: 2) },
                { id, bytes in await refusal(self.alice.proof(id, signing: bytes), node: bench.far) },
                { [mallory] id, bytes in await refusal(mallory.proof(id, signing: bytes)) },
                { id, bytes in await refusal(self.alice.proof(id, signing: Array(bytes.reversed()))) },
                { id, bytes in await refusal(self.alice.proof(id, signing: bytes, as: self.alice.id())) },
            ]
            for misuse in misuses {
                let challenge = try await bench.challenge(self.alice)
                #expect(await misuse(challenge.id, challenge.bytes) == .authFailed)
                #expect(await refusal(self.alice.proof(challenge.id, signing: challenge.bytes)) == .authFailed)
            }
            // Too late: its key has ended.
            var challenge = try await bench.challenge(self.alice)
            try await bench.bus.delete([Keyspace.challenge(UUIDText(challenge.id)!)])
            #expect(await refusal(self.alice.proof(challenge.id, signing: challenge.bytes)) == .authFailed)
            #expect(try await bench.sql("SELECT count(*) FROM auth.identities") == "0")
            // Good once.
            challenge = try await bench.challenge(self.alice)
            #expect(await refusal(self.alice.proof(challenge.id, signing: challenge.bytes)) == nil)
            #expect(await refusal(self.alice.proof(challenge.id, signing: challenge.bytes)) == .authFailed)
            // Begun for one identity, proved without it.
            challenge = try await bench.challenge(self.alice, as: self.alice.id())
            #expect(await refusal(self.alice.proof(challenge.id, signing: challenge.bytes)) == .authFailed)
            // Redis was emptied in between.
            mallory = self.alice
            challenge = try await bench.challenge(mallory)
            bench.bus.forgetEverything()
            #expect(await refusal(mallory.proof(challenge.id, signing: challenge.bytes)) == .authFailed)
        }
    }

    @Test func keysBelongTogether() async throws {
        try await AuthBench.run { bench in
            _ = try await bench.login(TestIdentity(1))
            _ = try await bench.login(TestIdentity(2))
            for (thief, id) in [
                (TestIdentity(1, encSeed: 2), nil), (TestIdentity(1, encSeed: 3), nil),
                (TestIdentity(3, encSeed: 1), nil),
                (TestIdentity(2), TestIdentity(1).id()), (TestIdentity(3), TestIdentity(1).id()),
            ] as [(TestIdentity, WhisperID?)] {
                let challenge = try await bench.challenge(thief, as: id)
                let answer = await bench.send(
                    "register_proof", thief.proof(challenge.id, signing: challenge.bytes, as: id))
                #expect(answer.refusal == .authFailed)
            }
            #expect(try await bench.sql("SELECT sum(epoch), count(*) FROM auth.identities") == "2|2")
        }
    }

    @Test func unknownAndBannedIdentitiesAreRefused() async throws {
        try await AuthBench.run { bench in
            #expect(await bench.send("register_begin", self.alice.begin(as: self.alice.id())).refusal == .notFound)
            let login = try await bench.login(self.alice)
            try await bench.sql("UPDATE auth.identities SET is_banned = true")
            #expect(await bench.send("register_begin", self.alice.begin(as: self.alice.id())).refusal == .userBanned)
            let challenge = try await bench.challenge(self.alice)
            let proof = self.alice.proof(challenge.id, signing: challenge.bytes)
            #expect(await bench.send("register_proof", proof).refusal == .userBanned)
            #expect(try await bench.session(login.session.tokenHash)?.isBanned == true)
        }
    }
}
