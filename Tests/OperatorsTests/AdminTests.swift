import AuthTestKit
import ClusterContract
import Contract
import Foundation
import HTTPAccess
import ServerCrypto
import Telemetry
import Testing

/// The operators' HTTP: who may, what bans do, and that everything is recorded (contract §10).
@Suite(.serialized, .timeLimit(.minutes(20))) struct AdminTests {
    let alice = TestIdentity(1)
    let bob = TestIdentity(2)

    @Test func rolesAreToldByTokensOrTheirDigests() throws {
        let digest = SHA256.hash(Array("v".utf8)).bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }
            .joined()
        let tokens = try AdminTokens(operator: Secret("o"), viewer: Secret("sha256:\(digest)"))
        #expect(tokens.role(of: "o".utf8) == .operator)
        #expect(tokens.role(of: "v".utf8) == .viewer)
        for wrong in ["", "x", "O", "sha256:\(digest)", digest] { #expect(tokens.role(of: wrong.utf8) == nil) }
        for unusable in ["sha256:", "sha256:\(digest)0", "sha256:\(digest.dropLast())", "sha256:\(digest.dropLast())g"]
        {
            #expect(throws: AdminTokens.Unusable.self) { try AdminTokens(operator: Secret(unusable), viewer: nil) }
        }
        #expect(try AdminTokens(operator: nil, viewer: nil).role(of: "".utf8) == nil)
    }

    @Test func viewersLookAndOperatorsChange() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let reading = ["stats", "reports", "bans", "audit"].map { "/admin/\($0)" }
            for path in reading {
                for header in [
                    nil, "", "Bearer", "Bearer x", "Basic \(HTTPBench.viewerToken)", "Bearer \(HTTPBench.viewerToken)x",
                ] {
                    #expect(try await http.send(.get, path, authorization: header).is(401, .notRegistered))
                }
                for token in [HTTPBench.viewerToken, HTTPBench.operatorToken] {
                    #expect(try await http.get(path, token: token).status == 200)
                }
            }
            let body = #"{"whisperId":"\#(self.alice.id())","reason":"spam"}"#
            for path in ["/admin/ban", "/admin/unban", "/admin/reports/\(UUIDText.random())/review"] {
                #expect(try await http.post(path, body, token: HTTPBench.viewerToken).is(403, .forbidden))
                #expect(try await http.post(path, body, token: "x").is(401, .notRegistered))
                #expect(try await http.post(path, "{}").is(400, .invalidPayload))
            }
            #expect(try await http.post("/admin/ban", body).is(404, .notFound))
            #expect(try await http.post("/admin/unban", body).is(404, .notFound))
            #expect(try await bench.sql("SELECT count(*) FROM auth.bans") == "0")
        }
    }

    /// Until when, whoever proves the keys is told, and nobody else.
    @Test func whoIsBannedIsToldUntilWhen() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            _ = try await bench.login(self.alice)
            let hour = Int64(3_600_000)
            let end = bench.now.milliseconds + hour
            let body = #"{"whisperId":"\#(self.alice.id())","reason":"spam","expiresAt":\#(end)}"#
            #expect(try await http.post("/admin/ban", body).status == 200)
            func left(_ answer: Answer) -> Int64? {
                guard case .refused(let refusal) = answer, refusal.code == .userBanned else { return 0 }
                return refusal.retryAfterMilliseconds
            }
            #expect(left(await bench.send("register_begin", self.alice.begin(as: self.alice.id()))) == nil)
            let challenge = try await bench.challenge(self.alice)
            let told = left(
                await bench.send("register_proof", self.alice.proof(challenge.id, signing: challenge.bytes)))
            #expect(told == hour)
        }
    }

    @Test func aBanEndsSessionsAndRefusesLogins() async throws {
        try await AuthBench.run { bench in
            let (http, clients) = (try HTTPBench(admin: bench), HTTPBench(bench))
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            let keys = "/users/\(self.alice.id())/keys"
            #expect(try await clients.get(keys, token: alice.token).status == 200)
            #expect(try await bench.isCached(alice.session.tokenHash))
            let body = #"{"whisperId":"\#(self.alice.id())","reason":"spam"}"#
            for _ in 0..<2 { #expect(try await http.post("/admin/ban", body).text == #"{"success":true}"#) }

            #expect(try await !bench.isCached(alice.session.tokenHash))
            // Twice at least: each ban is a Notice, and young bans are repeated.
            #expect(self.endings(bench).count >= 2)
            #expect(Set(self.endings(bench)) == [alice.session.caller.epoch.value + 1])
            #expect(try await clients.get(keys, token: alice.token).is(403, .userBanned))
            #expect(try await clients.get(keys, token: bob.token).json["status"] as? String == "banned")
            #expect(await bench.send("register_begin", self.alice.begin(as: self.alice.id())).refusal == .userBanned)
            let challenge = try await bench.challenge(self.alice)
            let proof = self.alice.proof(challenge.id, signing: challenge.bytes)
            #expect(await bench.send("register_proof", proof).refusal == .userBanned)
            #expect(
                await bench.send("session_refresh", AuthBench.privileged, session: alice.session, token: alice.token)
                    .refusal == .userBanned)
            #expect(
                await bench.send("update_tokens", AuthBench.privileged, session: alice.session).refusal == .userBanned)
            #expect(
                try await bench.sql(
                    "SELECT is_banned FROM auth.mail_identities WHERE whisper_id = \(self.alice.id().bits)") == "t")

            #expect(
                try await http.post("/admin/unban", #"{"whisperId":"\#(self.alice.id())","reason":"appeal"}"#).status
                    == 200)
            // The session of before is known again, and there is nothing left to be repeated.
            #expect(try await clients.get(keys, token: alice.token).json["status"] as? String == "active")
            #expect(try await bench.sql("SELECT count(*) FROM auth.bans") == "0")
            _ = try await bench.login(self.alice)
            #expect(try await http.get("/admin/bans", token: HTTPBench.viewerToken).text == #"{"bans":[]}"#)
        }
    }

    @Test func aBanEndsByItself() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let alice = try await bench.login(self.alice)
            let end = bench.now + .seconds(60)
            func ban(until end: Timestamp) async throws -> HTTPBench.Answer {
                try await http.post(
                    "/admin/ban",
                    #"{"whisperId":"\#(self.alice.id())","reason":"calm down","expiresAt":\#(end.milliseconds)}"#)
            }
            #expect(try await ban(until: bench.now).is(400, .invalidPayload))
            #expect(try await ban(until: end).status == 200)
            let bans = try await http.get("/admin/bans", token: HTTPBench.viewerToken).json["bans"] as! [[String: Any]]
            #expect(
                bans[0]["expiresAt"] as? Int64 == end.milliseconds
                    && bans[0]["createdAt"] as? Int64 == bench.now.milliseconds)
            bench.wait(.seconds(59))
            try await bench.bans.sweep()
            #expect(try await bench.session(alice.session.tokenHash)?.isBanned == true)
            bench.wait(.seconds(1))
            try await bench.bans.sweep()
            // The instances look as well; whoever saw it first may not have committed yet.
            while try await bench.session(alice.session.tokenHash)?.isBanned != false { try Task.checkCancellation() }
            #expect(try await bench.sql("SELECT count(*) FROM auth.bans") == "0")
            #expect(try await bench.sql("SELECT is_banned FROM auth.mail_identities") == "f")
            #expect(
                try await bench.sql("SELECT action FROM auth.audit_events ORDER BY number DESC LIMIT 1") == "banExpired"
            )
            _ = try await bench.login(self.alice)
            // A ban without an end outlives one with.
            #expect(try await ban(until: bench.now + .seconds(60)).status == 200)
            #expect(
                try await http.post("/admin/ban", #"{"whisperId":"\#(self.alice.id())","reason":"for good"}"#).status
                    == 200)
            bench.wait(.seconds(3_600))
            try await bench.bans.sweep()
            #expect(await bench.send("register_begin", self.alice.begin(as: self.alice.id())).refusal == .userBanned)
        }
    }

    /// A Notice is lost, a process dies, a cache is filled at the wrong moment: for a while all is said again.
    @Test func aYoungBanIsRepeated() async throws {
        try await AuthBench.run(instances: 1) { bench in
            let alice = try await bench.login(self.alice)
            let cached = alice.session.encoded()
            _ = try await bench.bans.ban(
                .identity(self.alice.id()), reason: "x", until: nil, recording: AuditEvent(.operator, "ban"))
            try await bench.bus.set(Keyspace.session(alice.session.tokenHash), to: cached, for: .seconds(60))
            let before = self.endings(bench).count
            try await bench.bans.sweep()
            #expect(self.endings(bench).count > before)
            #expect(try await !bench.isCached(alice.session.tokenHash))
        }
    }

    @Test func everythingIsRecordedAndNothingChanged() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            _ = try await bench.login(self.alice)
            _ = try await http.get("/admin/stats", token: HTTPBench.viewerToken)
            _ = try await http.get("/admin/stats", token: "x")
            _ = try await http.get("/admin/messages/\(UUIDText.random())", token: HTTPBench.viewerToken)
            _ = try await http.post(
                "/admin/ban", #"{"whisperId":"\#(self.alice.id())","reason":"spam"}"#, token: HTTPBench.viewerToken)
            _ = try await http.post("/admin/ban", #"{"whisperId":"\#(self.alice.id())","reason":"spam"}"#)
            _ = try await http.post("/admin/ban", #"{"whisperId":"\#(self.bob.id())","reason":"spam"}"#)
            for _ in 0..<3 { _ = await bench.send("register_begin", self.alice.begin(as: self.alice.id())) }
            let answer = try await http.get("/admin/audit?limit=100", token: HTTPBench.operatorToken)
            let events = answer.json["events"] as! [[String: Any]]
            #expect(
                events.reversed().map { "\($0["actor"]!) \($0["action"]!) \($0["result"]!)" } == [
                    "viewer getStats ok", "nobody getStats NOT_REGISTERED", "viewer getMessage NOT_FOUND",
                    "viewer ban FORBIDDEN", "operator ban ok", "system sessionsEnded ok", "operator ban NOT_FOUND",
                    // Once a minute: whoever is banned can try as often as they like.
                    "system loginRefused ok",
                ])
            #expect(events.reversed()[4]["target"] as? String == "\(self.alice.id())")
            #expect(events.reversed()[4]["note"] as? String == "spam")
            // The id may be that of somebody who was erased.
            let about = try await http.get("/admin/audit?target=\(self.bob.id())", token: HTTPBench.viewerToken)
            #expect((about.json["events"] as! [[String: Any]]).isEmpty)
            // Not even the service can change what it has recorded.
            for sql in ["UPDATE auth.audit_events SET actor = 'nobody'", "DELETE FROM auth.audit_events"] {
                await #expect(throws: (any Error).self) { try await bench.sql("SET ROLE whisper_auth; \(sql)") }
            }
        }
    }

    @Test func theClusterIsCounted() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let alice = try await bench.login(self.alice)
            _ = try await bench.login(self.bob)
            let presence = Presence(
                node: bench.near, connection: ConnectionID(value: 1), epoch: alice.session.caller.epoch)
            try await bench.bus.set(Keyspace.presence(self.alice.id()), to: presence.encoded(), for: .seconds(60))
            _ = try await http.post("/admin/ban", #"{"whisperId":"\#(self.bob.id())","reason":"spam"}"#)
            for seed in UInt8(3)...5 { _ = try await bench.prove(TestIdentity(seed)) }
            _ = try await http.post("/admin/ban", #"{"guestId":"\#(TestIdentity(3).guestID)","reason":"spam"}"#)
            // No other service has declared its views here.
            #expect(
                try await http.get("/admin/stats", token: HTTPBench.viewerToken).text
                    == #"{"users":2,"devices":2,"devicesByClient":{"phone":0,"tablet":0,"desktop":0,"web":0,"terminal":0,"daemon":0,"bot":0,"unknown":2},"sessions":2,"online":1,"pendingMessages":0,"groups":0,"attachments":{"count":0,"bytes":0},"reportsOpen":0,"bansActive":2,"guests":3,"profiles":0,"conversations":0,"streams":0,"listeners":0,"rooms":0,"transcriptLines":0}"#
            )
            try await bench.sql(
                """
                CREATE SCHEMA attachments; CREATE VIEW attachments.statistics AS SELECT 3::bigint AS count, 99::numeric AS bytes;
                GRANT USAGE ON SCHEMA attachments TO whisper_auth; GRANT SELECT ON attachments.statistics TO whisper_auth
                """)
            #expect(
                try await http.get("/admin/stats", token: HTTPBench.viewerToken).text.contains(
                    #""attachments":{"count":3,"bytes":99}"#))
        }
    }

    @Test func withoutRedisOrPostgresNobodyIsLetIn() async throws {
        try await AuthBench.run(alone: true) { bench in
            let http = try HTTPBench(admin: bench)
            _ = try await bench.login(self.alice)
            bench.bus.goAway()
            let body = #"{"whisperId":"\#(self.alice.id())","reason":"spam"}"#
            #expect(try await http.post("/admin/ban", body).is(500, .internalError))
            #expect(try await http.get("/admin/stats", token: HTTPBench.viewerToken).is(500, .internalError))
            bench.bus.comeBack()
            #expect(try await bench.sql("SELECT count(*) FROM auth.bans") == "0")
            await bench.database.server.kill()
            #expect(try await http.get("/admin/bans", token: HTTPBench.viewerToken).is(500, .internalError))
        }
    }

    @Test func wrongTokensDoNotUseUpTheOperators() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            var answer = try await http.get("/admin/stats", token: "x")
            // The rate refills meanwhile: on a slow machine more are needed than it has.
            for _ in 0..<5_000 where answer.status == 401 { answer = try await http.get("/admin/stats", token: "x") }
            #expect(answer.is(429, .rateLimited) && answer.headers[.retryAfter] != nil)
            #expect(try await http.get("/admin/stats", token: HTTPBench.viewerToken).status == 200)
        }
    }

    /// The epochs of sessions that gateways were told to end because of a ban.
    private func endings(_ bench: AuthBench) -> [Int64] {
        bench.listener.heard.compactMap {
            if case .news(.sessionsEnded(self.alice.id(), let epoch, .banned)) = $0 { epoch.value } else { nil }
        }
    }
}
