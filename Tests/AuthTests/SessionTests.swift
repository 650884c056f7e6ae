import AuthCore
import AuthTestKit
import ClusterContract
import Contract
import ServerCrypto
import Testing

@Suite(.serialized, .timeLimit(.minutes(20))) struct SessionTests {
    let alice = TestIdentity(1)

    private func refresh(_ login: AuthBench.Login, on bench: AuthBench) async -> Answer {
        await bench.send("session_refresh", AuthBench.privileged, session: login.session, token: login.token)
    }

    @Test func aRefreshCanBeRepeatedUntilTheOverlapEnds() async throws {
        try await AuthBench.run { bench in
            let old = try await bench.login(self.alice)
            bench.wait(.seconds(3_600))
            let answer = await self.refresh(old, on: bench)
            let new = try answer.refreshed()
            let ack = try answer.reply("session_refresh_ack")
            #expect(Set(ack.keys) == ["sessionToken", "sessionExpiresAt", "serverTime"])
            #expect(ack["sessionExpiresAt"] as? Int64 == (bench.now + .seconds(7 * 86_400)).milliseconds)
            #expect(ack["serverTime"] as? Int64 == bench.now.milliseconds)
            #expect(new.token != old.token && new.token.utf8.count == 43)
            #expect(new.session.tokenHash == SHA256.hash(Array(new.token.utf8)))
            #expect(new.session.caller == old.session.caller && new.session.device == old.session.device)

            bench.wait(.seconds(100))
            let repeated = try await self.refresh(old, on: bench).refreshed()
            #expect(repeated.token == new.token && repeated.session == new.session)
            // Repeating it does not make the old one live longer.
            #expect(try await bench.session(old.session.tokenHash)?.expiresAt == bench.now + .seconds(20))
            #expect(try await bench.directory.session(old.session.tokenHash)?.expiresAt == bench.now + .seconds(20))
            bench.wait(.seconds(20))
            #expect(await self.refresh(old, on: bench).refusal == .notRegistered)
            #expect(try await bench.session(old.session.tokenHash) == nil)
            #expect(try await bench.session(new.session.tokenHash) == new.session)
        }
    }

    @Test func refreshesThatRaceEndInOneToken() async throws {
        try await AuthBench.run { bench in
            let old = try await bench.login(self.alice)
            let tokens = try await withThrowingTaskGroup { group in
                for _ in 0..<8 { group.addTask { try await self.refresh(old, on: bench).refreshed().token } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1) }
            }
            #expect(tokens.count == 1)
            #expect(try await bench.sql("SELECT count(*) FROM auth.sessions") == "2")
        }
    }

    @Test func theOldTokenDiesWhenTheNewOneIsUsed() async throws {
        try await AuthBench.run { bench in
            let old = try await bench.login(self.alice)
            let new = try await self.refresh(old, on: bench).refreshed()
            #expect(try await bench.isCached(old.session.tokenHash))
            for _ in 0..<2 {
                try await bench.tell(.sessionUsed(tokenHash: new.session.tokenHash))
                #expect(try await bench.isCached(old.session.tokenHash) == false)
                #expect(try await bench.session(old.session.tokenHash) == nil)
                #expect(try await bench.session(new.session.tokenHash) == new.session)
            }
            // One that was never refreshed has nothing to end.
            try await bench.tell(.sessionUsed(tokenHash: Bytes32()))
        }
    }

    @Test func askingForTheNewTokenIsUsingIt() async throws {
        try await AuthBench.run { bench in
            let old = try await bench.login(self.alice)
            let new = try await self.refresh(old, on: bench).refreshed()
            #expect(try await bench.isCached(new.session.tokenHash) == false)
            #expect(try await bench.session(old.session.tokenHash) != nil)
            #expect(try await bench.session(new.session.tokenHash) == new.session)
            #expect(try await bench.isCached(old.session.tokenHash) == false)
            #expect(try await bench.session(old.session.tokenHash) == nil)
        }
    }

    @Test func aCacheThatNamesSomebodyElseIsNoAnswer() async throws {
        try await AuthBench.run { bench in
            let (own, other) = (try await bench.login(self.alice), try await bench.login(TestIdentity(2)))
            try await bench.bus.set(
                Keyspace.session(own.session.tokenHash), to: other.session.encoded(), for: .seconds(60))
            #expect(try await bench.directory.session(own.session.tokenHash) == own.session)
        }
    }

    @Test func whatIsNoSessionIsNotRefreshed() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            for token in ["", String(repeating: "A", count: 43)] {
                let answer = await bench.send(
                    "session_refresh", AuthBench.privileged, session: login.session, token: token)
                #expect(answer.refusal == .notRegistered)
            }
            #expect(
                await bench.send("session_refresh", AuthBench.privileged, token: login.token).refusal == .notRegistered)
            // Replaced by a newer login.
            _ = try await bench.login(self.alice)
            #expect(await self.refresh(login, on: bench).refusal == .notRegistered)
        }
    }

    @Test func aSessionEndsWithItsWeek() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            bench.wait(.seconds(7 * 86_400) - .milliseconds(1))
            #expect(try await bench.session(login.session.tokenHash) == login.session)
            #expect(try await bench.directory.session(login.session.tokenHash) == login.session)
            bench.wait(.milliseconds(1))
            #expect(try await bench.session(login.session.tokenHash) == nil)
            #expect(try await bench.directory.session(login.session.tokenHash) == nil)
        }
    }

    @Test func logoutEndsSessionDeviceAndEpoch() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice, more: #","pushToken":"push-1""#)
            let answer = await bench.send("logout", AuthBench.privileged, session: login.session)
            guard case .loggedOut = answer else { throw Unexpected(answer) }
            #expect(try answer.reply("logout_ack")["success"] as? Bool == true)
            #expect(try await bench.isCached(login.session.tokenHash) == false)
            #expect(try await bench.session(login.session.tokenHash) == nil)
            #expect(try await bench.sql("SELECT count(*) FROM auth.devices") == "0")
            #expect(try await bench.sql("SELECT epoch FROM auth.identities") == "2")
            // The acknowledgement goes first, so that the connection is not closed before it.
            try await bench.untilAllIsDone()
            let answered = bench.listener.heard.lastIndex {
                if case .answer(_, question: _, .loggedOut) = $0 { true } else { false }
            }
            let told = bench.listener.heard.lastIndex {
                if case .news(.sessionsEnded(self.alice.id(), before: Epoch(value: 2), why: .replaced)) = $0 {
                    true
                } else {
                    false
                }
            }
            #expect(try #require(answered) < #require(told))
            // Once more, as when the Job comes twice.
            #expect(await bench.send("logout", AuthBench.privileged, session: login.session).isStale)
            #expect(try await bench.sql("SELECT epoch FROM auth.identities") == "2")
        }
    }

    @Test func pushTokensAreKeptSetAndCleared() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice, more: #","pushToken":"p1","voipToken":"v1""#)
            func update(_ fields: String) async throws -> String {
                let answer = await bench.send(
                    "update_tokens", #"{"protocolVersion":1,"cryptoVersion":1\#(fields)}"#, session: login.session)
                #expect(try answer.reply("tokens_updated")["success"] as? Bool == true)
                return try await bench.sql("SELECT push_token, voip_token FROM auth.devices")
            }
            #expect(try await update("") == "p1|v1")
            #expect(try await update(#","pushToken":"p2""#) == "p2|v1")
            #expect(try await update(#","voipToken":null"#) == "p2|")
            #expect(try await update(#","pushToken":null,"voipToken":"v2""#) == "|v2")
            #expect(try await update(#","voipToken":"v2""#) == "|v2")
            // A login on the same device without tokens keeps them.
            _ = try await bench.login(self.alice)
            #expect(try await bench.sql("SELECT push_token, voip_token FROM auth.devices") == "|v2")
        }
    }

    /// A login may bring it, and clients of before bring none.
    @Test func aWakeSecretIsKeptSetAndCleared() async throws {
        try await AuthBench.run { bench in
            func stored() async throws -> String {
                try await bench.sql("SELECT push_token, encode(wake_secret, 'hex') FROM auth.push_tokens")
            }
            func secret(_ byte: UInt8) -> String {
                #","wakeSecret":"\#(Base64.text([UInt8](repeating: byte, count: 16)))""#
            }
            let (one, two) = (String(repeating: "11", count: 16), String(repeating: "22", count: 16))
            let login = try await bench.login(self.alice, more: #","pushToken":"p1""# + secret(0x11))
            #expect(try await stored() == "p1|\(one)")
            func update(_ fields: String) async throws -> String {
                let answer = await bench.send(
                    "update_tokens", #"{"protocolVersion":1,"cryptoVersion":1\#(fields)}"#, session: login.session)
                #expect(try answer.reply("tokens_updated")["success"] as? Bool == true)
                return try await stored()
            }
            #expect(try await update(#","pushToken":"p2""#) == "p2|\(one)")
            #expect(try await update(secret(0x22)) == "p2|\(two)")
            #expect(try await update(#","wakeSecret":null"#) == "p2|")
            #expect(try await update(secret(0x11)) == "p2|\(one)")
            // A login of the same device keeps it, sets it and clears it; another device has none.
            for (more, kept) in [
                ("", one), (secret(0x22), two), (#","wakeSecret":null"#, ""), (secret(0x11), one),
            ] {
                _ = try await bench.login(self.alice, more: more)
                #expect(try await stored() == "p2|\(kept)")
            }
            _ = try await bench.login(self.alice.withNewDevice(), more: #","pushToken":"p3""#)
            #expect(try await stored() == "p3|")
            // The very first login may say that it has none.
            _ = try await bench.login(TestIdentity(2), more: #","wakeSecret":null"#)
            #expect(try await bench.sql("SELECT count(*) FROM auth.devices WHERE wake_secret IS NOT NULL") == "0")
        }
    }

    /// A later push of one identity must not take the place of another's: push is told whose token is shared.
    @Test func aTokenOfSeveralIdentitiesIsKnownAsShared() async throws {
        try await AuthBench.run { bench in
            func shared() async throws -> String {
                try await bench.sql("SELECT is_shared FROM auth.push_tokens ORDER BY whisper_id")
            }
            var bob = TestIdentity(2)
            bob.device = self.alice.device
            _ = try await bench.login(self.alice, more: #","pushToken":"shared""#)
            #expect(try await shared() == "f")
            let login = try await bench.login(bob, more: #","pushToken":"shared","voipToken":"his""#)
            #expect(try await shared() == "t\nt")
            let fields = #"{"protocolVersion":1,"cryptoVersion":1,"pushToken":"another"}"#
            _ = try await bench.send("update_tokens", fields, session: login.session).reply("tokens_updated")
            #expect(try await shared() == "f\nf")
        }
    }

    @Test func tokensOfAnOlderEpochAreRefused() async throws {
        try await AuthBench.run { bench in
            let old = try await bench.login(self.alice)
            let new = try await bench.login(self.alice.withNewDevice())
            let fields = #"{"protocolVersion":1,"cryptoVersion":1,"pushToken":"stolen"}"#
            #expect(await bench.send("update_tokens", fields, session: old.session).isStale)
            #expect(try await bench.sql("SELECT count(*) FROM auth.push_tokens") == "0")
            _ = try await bench.send("update_tokens", fields, session: new.session).reply("tokens_updated")
            #expect(try await bench.sql("SELECT push_token FROM auth.push_tokens") == "stolen")
            #expect(await bench.send("update_tokens", fields).refusal == .notRegistered)
        }
    }

    /// Two identities on one phone are both woken.
    @Test func identitiesOfOneDeviceShareItsTokens() async throws {
        try await AuthBench.run { bench in
            func shown(by seed: UInt8, platform: Platform = .ios, device: UUIDText) async throws {
                var identity = TestIdentity(seed)
                (identity.device, identity.platform) = (device, platform)
                _ = try await bench.login(identity, more: #","pushToken":"shared","voipToken":"too""#)
                bench.wait(.seconds(1))
            }
            func holders() async throws -> Set<String> {
                let ids = try await bench.sql(
                    """
                    SELECT auth.whisper_id_text(whisper_id) FROM auth.push_tokens
                    WHERE push_token = 'shared' AND voip_token = 'too'
                    """)
                return Set(ids.split(separator: "\n").map(String.init))
            }
            func ids(_ seeds: ClosedRange<UInt8>) -> Set<String> { Set(seeds.map { "\(TestIdentity($0).id())" }) }
            let phone = UUIDText.random()
            for seed in UInt8(1)...8 { try await shown(by: seed, device: phone) }
            #expect(try await holders() == ids(1...8))
            // The ninth takes the place of the one that showed it longest ago.
            try await shown(by: 1, device: phone)
            try await shown(by: 9, device: phone)
            #expect(try await holders() == ids(3...9).union(ids(1...1)))
            // The device id alone is not enough, and another device takes it from all.
            try await shown(by: 10, platform: .android, device: phone)
            #expect(try await holders() == ids(10...10))
            for seed in UInt8(1)...3 { try await shown(by: seed, device: phone) }
            try await shown(by: 11, device: .random())
            #expect(try await holders() == ids(11...11))
        }
    }

    /// A provider that refuses a token refuses it for all who share it.
    @Test func aRejectedTokenIsClearedForAllWhoShareIt() async throws {
        try await AuthBench.run { bench in
            let phone = UUIDText.random()
            for seed in UInt8(1)...3 {
                var identity = TestIdentity(seed)
                identity.device = phone
                _ = try await bench.login(identity, more: #","pushToken":"shared""#)
            }
            let other = try await bench.login(TestIdentity(4), more: #","pushToken":"another""#)
            bench.wait(.seconds(1))
            let rejected = RejectedToken(
                identity: TestIdentity(2).id(), kind: .push, tokenHash: SHA256.hash(Array("shared".utf8)),
                asOf: bench.now)
            #expect(try await DeviceTable().clear([rejected], in: bench.pool) == 3)
            #expect(
                try await bench.sql("SELECT auth.whisper_id_text(whisper_id) FROM auth.push_tokens")
                    == "\(other.session.caller.identity)")
            // A token that was shown again meanwhile stays with all.
            bench.wait(.seconds(1))
            for seed in UInt8(1)...2 {
                var identity = TestIdentity(seed)
                identity.device = phone
                _ = try await bench.login(identity, more: #","pushToken":"shared""#)
            }
            #expect(try await DeviceTable().clear([rejected], in: bench.pool) == 0)
        }
    }

    @Test func aPushTokenBelongsToTheDeviceThatShowedItLast() async throws {
        try await AuthBench.run { bench in
            let bob = TestIdentity(2)
            let owner = "SELECT auth.whisper_id_text(whisper_id), push_token, voip_token FROM auth.push_tokens"
            _ = try await bench.login(self.alice, more: #","pushToken":"shared","voipToken":"alice's""#)
            let second = try await bench.login(bob)
            let fields = #"{"protocolVersion":1,"cryptoVersion":1,"pushToken":"shared"}"#
            _ = try await bench.send("update_tokens", fields, session: second.session).reply("tokens_updated")
            #expect(
                try await bench.sql(owner + " ORDER BY push_token")
                    == "\(bob.id())|shared|\n\(self.alice.id())||alice's")
            _ = try await bench.login(self.alice, more: #","pushToken":"shared""#)
            #expect(try await bench.sql(owner) == "\(self.alice.id())|shared|alice's")
        }
    }

    @Test func ownersThatRaceLeaveOneOwner() async throws {
        try await AuthBench.run { bench in
            let logins = try await withThrowingTaskGroup { group in
                // More than a transaction has tries, and than there are connections.
                for seed in UInt8(1)...24 { group.addTask { try await bench.login(TestIdentity(seed)) } }
                return try await group.reduce(into: [AuthBench.Login]()) { $0.append($1) }
            }
            await withDiscardingTaskGroup { group in
                for login in logins {
                    group.addTask {
                        let fields = #"{"protocolVersion":1,"cryptoVersion":1,"pushToken":"shared","voipToken":"too"}"#
                        let answer = await bench.send("update_tokens", fields, session: login.session)
                        #expect(throws: Never.self) { try answer.reply("tokens_updated") }
                    }
                }
            }
            #expect(
                try await bench.sql(
                    "SELECT count(*) FROM auth.push_tokens WHERE push_token = 'shared' AND voip_token = 'too'") == "1")
        }
    }

    /// Each would take the place of the same one, if they did not wait for each other.
    @Test func identitiesOfOneDeviceThatRaceStayWithinTheBound() async throws {
        try await AuthBench.run { bench in
            let phone = UUIDText.random()
            func logIn(_ seed: UInt8, _ more: String = "") async throws -> AuthBench.Login {
                var identity = TestIdentity(seed)
                identity.device = phone
                defer { bench.wait(.seconds(1)) }
                return try await bench.login(identity, more: more)
            }
            for seed in UInt8(1)...8 { _ = try await logIn(seed, #","pushToken":"shared","voipToken":"too""#) }
            for round in UInt8(0)..<4 {
                var newcomers: [AuthBench.Login] = []
                for place in UInt8(0)..<4 { newcomers.append(try await logIn(9 + 4 * round + place)) }
                let logins = newcomers
                try await bench.collide(
                    with: ["SELECT 1 FROM auth.devices WHERE push_token = 'shared' FOR UPDATE"]
                ) {
                    await withDiscardingTaskGroup { group in
                        for login in logins {
                            group.addTask {
                                let fields =
                                    #"{"protocolVersion":1,"cryptoVersion":1,"pushToken":"shared","voipToken":"too"}"#
                                let answer = await bench.send("update_tokens", fields, session: login.session)
                                #expect(throws: Never.self) { try answer.reply("tokens_updated") }
                            }
                        }
                    }
                }
                let holders = try await bench.sql(
                    """
                    SELECT auth.whisper_id_text(whisper_id) FROM auth.push_tokens
                    WHERE push_token = 'shared' AND voip_token = 'too'
                    """
                ).split(separator: "\n").map(String.init)
                #expect(holders.count == 8)
                #expect(Set(holders).isSuperset(of: logins.map { "\($0.session.caller.identity)" }))
            }
        }
    }

    /// Each login deletes a row that the others want to change. They begin together, when somebody else lets go of the token.
    @Test func identitiesThatMoveToAnotherDeviceTogetherDoNotWaitInACircle() async throws {
        try await AuthBench.run { bench in
            for _ in 0..<8 {
                let phone = UUIDText.random()
                try await bench.collide(with: ["SELECT pg_advisory_xact_lock(hashtextextended('shared', 1))"]) {
                    try await withThrowingDiscardingTaskGroup { group in
                        // Fewer than there are connections.
                        for seed in UInt8(1)...4 {
                            group.addTask {
                                var identity = TestIdentity(seed)
                                identity.device = phone
                                _ = try await bench.login(identity, more: #","pushToken":"shared""#)
                            }
                        }
                    }
                }
                #expect(
                    try await bench.sql("SELECT count(*) FROM auth.push_tokens WHERE push_token = 'shared'") == "4")
            }
            // One connection after the other, so that each says what it has counted.
            for _ in 0..<32 { _ = try await bench.pool.query("SELECT pg_stat_force_next_flush()") }
            #expect(
                try await bench.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()") == "0")
        }
    }

    @Test func theSweepRemovesWhatHasEndedAndNothingElse() async throws {
        try await AuthBench.run { bench in
            let sweep = ExpirySweep(SessionTable(bench.pool), clock: bench.clock, logger: quiet)
            for seed in UInt8(1)...5 { _ = try await bench.login(TestIdentity(seed)) }
            bench.wait(.seconds(86_400))
            let refreshed = try await bench.login(TestIdentity(6))
            let successor = try await self.refresh(refreshed, on: bench).refreshed()
            #expect(try await sweep.sweep() == 0)
            bench.wait(.seconds(120))
            #expect(try await sweep.sweep() == 1)
            bench.wait(.seconds(6 * 86_400))
            #expect(try await sweep.sweep(batch: 2) == 5)
            #expect(try await bench.session(successor.session.tokenHash) != nil)
        }
    }
}
