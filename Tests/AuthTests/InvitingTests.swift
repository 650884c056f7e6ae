import AuthCore
import AuthTestKit
import ClusterContract
import Contract
import OperatorsCore
import Store
import Testing

/// Invitations that people make (contract §20.6).
@Suite(.serialized, .timeLimit(.minutes(20))) struct InvitingTests {
    private let alice = TestIdentity(1)
    private let bob = TestIdentity(2)
    private let carol = TestIdentity(3)

    private func http(_ bench: AuthBench, perDay: Int = 2, keepsInviters: Bool = false) -> HTTPBench {
        var configuration = AuthConfiguration()
        configuration.invitationsPerDay = perDay
        configuration.server.keepsInviters = keepsInviters
        return HTTPBench(bench, configuration: configuration)
    }

    private func invite(
        _ http: HTTPBench, _ token: String, more: String = ""
    ) async throws -> HTTPBench.Answer {
        try await http.send(
            .post, "/invitations", authorization: "Bearer \(token)",
            body: #"{"protocolVersion":1,"cryptoVersion":1\#(more)}"#)
    }

    private func revoke(
        _ http: HTTPBench, _ invitation: String, _ token: String
    ) async throws -> HTTPBench.Answer {
        try await http.send(
            .post, "/invitations/revoke", authorization: "Bearer \(token)",
            body: #"{"protocolVersion":1,"cryptoVersion":1,"token":"\#(invitation)"}"#)
    }

    private func prove(_ somebody: TestIdentity, _ bench: AuthBench, with invitation: String) async throws -> Answer {
        let challenge = try await bench.challenge(somebody)
        return await bench.send(
            "register_proof",
            somebody.proof(challenge.id, signing: challenge.bytes, more: #","invitation":"\#(invitation)""#))
    }

    private func needInvitations(_ bench: AuthBench) async throws {
        try await bench.doors { doors, now, transaction throws(StoreError) in
            try await doors.choose(.invited, at: now, in: transaction)
        }
    }

    @Test func aPersonInvitesAsManyAsTheSettingSays() async throws {
        try await AuthBench.run { bench in
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            let http = self.http(bench)
            for wrong in [#","expiresInSeconds":59"#, #","expiresInSeconds":7776001"#, #","expiresInSeconds":"7""#] {
                #expect(try await self.invite(http, alice.token, more: wrong).is(400, .invalidPayload))
            }
            let first = try await self.invite(http, alice.token, more: #","expiresInSeconds":60"#)
            #expect(first.status == 200 && Set(first.json.keys) == ["token", "expiresAt"])
            #expect(first.json["expiresAt"] as? Int64 == (bench.now + .seconds(60)).milliseconds)
            let second = try await self.invite(http, alice.token)
            #expect(second.json["expiresAt"] as? Int64 == (bench.now + .seconds(7 * 86_400)).milliseconds)
            // Wrong bodies have cost nothing, and others have their own.
            #expect(try await self.invite(http, alice.token).is(429, .rateLimited))
            #expect(try await self.invite(http, bob.token).status == 200)
            #expect(try await self.invite(http, "x").is(401, .notRegistered))

            try await self.needInvitations(bench)
            bench.wait(.seconds(61))
            let late = try #require(first.json["token"] as? String)
            #expect(try await self.prove(self.carol, bench, with: late).reason == .invitationInvalid)
            let good = try #require(second.json["token"] as? String)
            _ = try (try await self.prove(self.carol, bench, with: good)).login()
            #expect(try await self.prove(TestIdentity(4), bench, with: good).reason == .invitationInvalid)
        }
    }

    @Test func nobodyInvitesUnlessAnOperatorAllowsIt() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            #expect(try await self.invite(self.http(bench, perDay: 0), login.token).is(403, .forbidden))
            #expect(try await bench.sql("SELECT count(*) FROM auth.invitations") == "0")
        }
    }

    @Test func withoutCountersNobodyInvites() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            let http = self.http(bench)
            bench.bus.goAway()
            #expect(try await self.invite(http, login.token).is(429, .rateLimited))
            bench.bus.comeBack()
            for _ in 0..<2 { #expect(try await self.invite(http, login.token).status == 200) }
            #expect(try await bench.sql("SELECT count(*) FROM auth.invitations") == "2")
        }
    }

    @Test func whoeverHasTheTokenRevokes() async throws {
        try await AuthBench.run { bench in
            let (alice, bob) = (try await bench.login(self.alice), try await bench.login(self.bob))
            let http = self.http(bench)
            let made = try await self.invite(http, alice.token)
            let token = try #require(made.json["token"] as? String)
            for wrong in ["AAECAwQFBgcICQoLDA0OD", "AAECAwQFBgcICQoLDA0ODz"] {
                #expect(try await self.revoke(http, wrong, bob.token).is(400, .invalidPayload))
            }
            // One that is unknown, and then one of somebody else's, twice.
            for invitation in ["AAECAwQFBgcICQoLDA0ODw", token, token] {
                let answer = try await self.revoke(http, invitation, bob.token)
                #expect(answer.status == 200 && answer.text == #"{"success":true}"#)
            }
            try await self.needInvitations(bench)
            #expect(try await self.prove(self.carol, bench, with: token).reason == .invitationInvalid)
            #expect(try await self.revoke(http, token, "x").is(401, .notRegistered))
        }
    }

    @Test func theInviterIsKeptOnlyIfTheServerSaysSo() async throws {
        try await AuthBench.run { bench in
            try await bench.addServices()
            let login = try await bench.login(self.alice)
            func exported() async throws -> Int? {
                let document = try await HTTPBench(bench).get("/account/export", token: login.token)
                return (document.json["invitations"] as? [[String: Any]])?.count
            }
            #expect(try await self.invite(self.http(bench), login.token).status == 200)
            #expect(try await bench.sql("SELECT by_identity, inviter IS NULL FROM auth.invitations") == "t|t")
            #expect(try await exported() == 0)
            #expect(try await self.invite(self.http(bench, keepsInviters: true), login.token).status == 200)
            #expect(
                try await bench.sql("SELECT inviter FROM auth.invitations WHERE inviter IS NOT NULL")
                    == "\(self.alice.id().bits)")
            #expect(try await exported() == 1)
            // Rows known to be of somebody who leaves go too.
            _ = try await bench.leave(self.alice, login.session).reply("account_deleted")
            #expect(try await bench.sql("SELECT count(*) FROM auth.invitations") == "1")
        }
    }

    @Test func theBoundForOpenInvitationsIsOneForAll() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            try await bench.sql(
                """
                INSERT INTO auth.invitations (invitation_id, token_hash, uses_left, uses_max, expires_at, created_at)
                SELECT gen_random_uuid(), sha256(n::text::bytea), 1, 1, now() + interval '1 day', now()
                FROM generate_series(1, \(Limits.openInvitationsMax - 1)) n
                """)
            let http = self.http(bench, perDay: 2)
            #expect(try await self.invite(http, login.token).status == 200)
            // A refused one costs none of the day's.
            for _ in 0..<2 { #expect(try await self.invite(http, login.token).is(403, .forbidden)) }
            #expect(
                try await bench.sql("SELECT count(*) FROM auth.invitations") == "\(Limits.openInvitationsMax)")
        }
    }

    /// Invitations of people that live for as long as one may.
    private func fill(_ bench: AuthBench, _ count: Int64) async throws {
        try await bench.sql(
            """
            INSERT INTO auth.invitations
                (invitation_id, token_hash, uses_left, uses_max, expires_at, created_at, by_identity)
            SELECT gen_random_uuid(), sha256(n::text::bytea), 1, 1, now() + interval '90 days', now(), true
            FROM generate_series(1, \(count)) n
            """)
    }

    /// Operators still have room.
    @Test func peopleFillTheirOwnShareAlone() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            try await self.fill(bench, Limits.peoplesInvitationsMax)
            #expect(try await self.invite(self.http(bench, perDay: 3), login.token).is(403, .forbidden))
            _ = try await bench.invite()
            try await bench.sql(
                "DELETE FROM auth.invitations WHERE number = (SELECT min(number) FROM auth.invitations)")
            #expect(try await self.invite(self.http(bench, perDay: 3), login.token).status == 200)
        }
    }

    /// A member who makes and revokes, or uses up, keeps nobody from inviting: the oldest ended one goes, of people's alone.
    @Test func endedOnesOfPeopleMakeRoom() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            _ = try await bench.invite()
            try await bench.sql("UPDATE auth.invitations SET revoked_at = now()")
            let (full, http) = (Limits.peoplesInvitationsMax, self.http(bench, perDay: 10))
            try await self.fill(bench, full)
            for (end, left) in [
                ("uses_left = 0", 2), ("expires_at = now() - interval '1 day'", 1), ("revoked_at = now()", 0),
            ] {
                try await bench.sql("UPDATE auth.invitations SET \(end) WHERE number = \(4 - left)")
                #expect(try await self.invite(http, login.token).status == 200)
                #expect(
                    try await bench.sql(
                        """
                        SELECT count(*), count(*) FILTER (WHERE number BETWEEN 2 AND 4)
                        FROM auth.invitations WHERE by_identity
                        """) == "\(full)|\(left)")
            }
            #expect(try await self.invite(http, login.token).is(403, .forbidden))
            #expect(try await bench.sql("SELECT count(*) FROM auth.invitations WHERE NOT by_identity") == "1")
        }
    }

    /// Nobody keeps the last half of the places for longer than a week.
    @Test func inACrowdAnInvitationLivesForAWeek() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            let http = self.http(bench, perDay: 10)
            try await self.fill(bench, Limits.peoplesInvitationsCrowd - 1)
            for (asked, given) in [(90, 90), (90, 7), (6, 6)] as [(Int64, Int64)] {
                let answer = try await self.invite(http, login.token, more: #","expiresInSeconds":\#(asked * 86_400)"#)
                #expect(
                    answer.json["expiresAt"] as? Int64 == (bench.now + .seconds(given * 86_400)).milliseconds,
                    "\(asked) days")
            }
            _ = try await bench.invite(for: .seconds(90 * 86_400))
            #expect(
                try await bench.sql(
                    "SELECT expires_at > now() + interval '89 days' FROM auth.invitations WHERE NOT by_identity") == "t"
            )
        }
    }

    /// The setting was on, and is off now.
    @Test func invitationsForgetTheirInvitersOnceTheyAreNotKept() async throws {
        // A process would sweep, too.
        try await AuthBench.run(instances: 0) { bench in
            _ = try await bench.invite()
            try await bench.sql("UPDATE auth.invitations SET by_identity = true, inviter = \(self.alice.id().bits)")
            func named() async throws -> String { try await bench.sql("SELECT count(inviter) FROM auth.invitations") }
            _ = try await EndedInvitations(bench.pool, keepsInviters: true).sweep(at: bench.clock.store, limit: 10)
            #expect(try await named() == "1")
            _ = try await EndedInvitations(bench.pool, keepsInviters: false).sweep(at: bench.clock.store, limit: 10)
            #expect(try await named() == "0")
        }
    }

    /// A session of the cache, whose identity has logged in anew or has been erased meanwhile.
    @Test func aSessionThatIsOverInvitesNobody() async throws {
        try await AuthBench.run { bench in
            let login = try await bench.login(self.alice)
            let http = self.http(bench)
            #expect(try await bench.isCached(login.session.tokenHash))
            try await bench.sql("UPDATE auth.identities SET epoch = epoch + 1")
            #expect(try await self.invite(http, login.token).is(401, .notRegistered))
            #expect(try await self.revoke(http, "AAECAwQFBgcICQoLDA0ODw", login.token).is(401, .notRegistered))
            #expect(try await bench.sql("SELECT count(*) FROM auth.invitations") == "0")
        }
    }
}
