import AuthTestKit
import Contract
import Foundation
import Testing

/// Operators erase (contract §20.5), by `/admin`. `PeopleTests` do it at the console.
@Suite(.serialized, .timeLimit(.minutes(20))) struct ErasureTests {
    private static let path = "/admin/erasures"
    private let alice = TestIdentity(1)

    private func wish(_ id: WhisperID, confirm: WhisperID? = nil, sentMail: String = "keep") -> String {
        #"{"whisperId":"\#(id)","confirm":"\#(confirm ?? id)","sentMail":"\#(sentMail)","reason":"asked by letter"}"#
    }

    @Test func anOperatorErasesWhomTheConfirmationNames() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let login = try await bench.login(self.alice)
            let (id, other) = (self.alice.id(), TestIdentity(2).id())
            #expect(try await http.post(Self.path, self.wish(id), token: HTTPBench.viewerToken).is(403, .forbidden))
            let mismatch = try await http.post(Self.path, self.wish(id, confirm: other))
            #expect(mismatch.is(400, .invalidPayload))
            #expect(mismatch.json["reason"] as? String == "confirmationMismatch")
            #expect(try await http.post(Self.path, self.wish(id, sentMail: "burn")).is(400, .invalidPayload))
            #expect(try await http.post(Self.path, self.wish(other)).is(404, .notFound))
            #expect(try await bench.sql("SELECT count(*) FROM auth.identities") == "1")

            let decided = try await http.post(Self.path, self.wish(id))
            #expect(decided.status == 200)
            // Asked again while it is open.
            #expect(try await http.post(Self.path, self.wish(id)).text == decided.text)
            for path in ["/admin/ban", "/admin/unban"] {
                let refused = try await http.post(path, #"{"whisperId":"\#(id)","reason":"too late"}"#)
                #expect(refused.is(404, .notFound))
            }
            #expect(try await bench.session(login.session.tokenHash) == nil)
            #expect(try await bench.isCached(login.session.tokenHash) == false)
            let erasure = try #require(decided.json["erasureId"] as? String)
            let one = try await http.get("\(Self.path)/\(erasure)", token: HTTPBench.viewerToken)
            #expect(one.json["by"] as? String == "operator")
            #expect((one.json["waitingFor"] as? [String])?.contains("router") == true)
            let list = try await http.get(Self.path, token: HTTPBench.viewerToken)
            #expect((list.json["erasures"] as? [[String: Any]])?.count == 1)
            #expect(!list.text.contains("\(id)") && !one.text.contains("\(id)"))
            #expect(
                try await http.get("\(Self.path)/\(UUIDText.random())", token: HTTPBench.viewerToken).is(404, .notFound)
            )
            // The audit log names the erasure, and nobody.
            #expect(
                try await bench.sql(
                    "SELECT target, note FROM auth.audit_events WHERE action = 'createErasure' AND target IS NOT NULL")
                    == "erasure-1|asked by letter")
            #expect(
                try await bench.sql("SELECT count(*) FROM auth.audit_events a WHERE a::text LIKE '%\(id)%'") == "0")
        }
    }

    @Test func aBannedIdentityIsErasedToo() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            _ = try await bench.login(self.alice)
            let id = self.alice.id()
            #expect(try await http.post("/admin/ban", #"{"whisperId":"\#(id)","reason":"spam"}"#).status == 200)
            #expect(try await http.post(Self.path, self.wish(id)).status == 200)
            #expect(try await bench.sql("SELECT count(*) FROM auth.bans") == "0")
            // The tombstone outlives the ban.
            let challenge = try await bench.challenge(self.alice)
            let answer = await bench.send(
                "register_proof", self.alice.proof(challenge.id, signing: challenge.bytes))
            #expect(answer.refusal == .authFailed && answer.reason == .erased)
        }
    }

    @Test func aGuestIsErasedByItsID() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let (id, other) = (self.alice.guestID, TestIdentity(2).guestID)
            func wish(_ members: String, confirm: GuestID? = nil) -> String {
                #"{\#(members),"confirm":"\#(confirm ?? id)","sentMail":"keep","reason":"asked by letter"}"#
            }
            let own = #""guestId":"\#(id)""#
            #expect(try await http.post(Self.path, wish(own)).is(404, .notFound))
            let proof = try await bench.prove(self.alice)
            #expect(try await http.post("/admin/ban", #"{\#(own),"reason":"spam"}"#).status == 200)
            let mismatch = try await http.post(Self.path, wish(own, confirm: other))
            #expect(mismatch.json["reason"] as? String == "confirmationMismatch")
            let both = own + #","whisperId":"\#(self.alice.id())""#
            #expect(try await http.post(Self.path, wish(both)).is(400, .invalidPayload))
            let decided = try await http.post(Self.path, wish(own))
            #expect(decided.status == 200)
            #expect(try await http.post(Self.path, wish(own)).text == decided.text)
            #expect(try await bench.guest(proof.guest.tokenHash) == nil)
            for table in ["guests", "guest_bans"] {
                #expect(try await bench.sql("SELECT count(*) FROM auth.\(table)") == "0", "\(table)")
            }
            #expect(try await bench.sql("SELECT by, guest_id IS NOT NULL FROM auth.erasures") == "operator|t")
            #expect(
                try await bench.sql("SELECT count(*) FROM auth.audit_events a WHERE a::text LIKE '%\(id)%'") == "0")
            // A proof was under way at the commit. The operator decides anew.
            try await bench.sql(
                """
                INSERT INTO auth.guests (guest_id, sign_key, enc_key, epoch, token_hash, expires_at, seen_at)
                SELECT guest_id, sha256('1'), sha256('2'), 1, sha256('3'), now(), now() FROM auth.erasures
                """)
            let anew = try await http.post(Self.path, wish(own))
            let erasure = try #require(anew.json["erasureId"] as? String)
            #expect(try await http.get("\(Self.path)/\(erasure)", token: HTTPBench.viewerToken).status == 200)
            #expect(try await bench.sql("SELECT count(*) FROM auth.erasures") == "1")
            // Once it is done the same keys come back, and the operator erases once more.
            try await bench.sql(
                "SELECT auth.finish_erasure(erasure_id, unnest(auth.erasure_parts())) FROM auth.erasures")
            _ = try await bench.prove(self.alice)
            #expect(try await http.post(Self.path, wish(own)).status == 200)
            #expect(try await bench.sql("SELECT count(*) FROM auth.guests") == "0")
        }
    }

    @Test func theConsoleErasesAGuest() async throws {
        try await AuthBench.run { bench in
            _ = try await bench.prove(self.alice)
            let http = try HTTPBench(admin: bench)
            let id = "\(self.alice.guestID)"
            let viewer = try await ConsoleBrowser(http, token: HTTPBench.viewerToken)
            let `operator` = try await ConsoleBrowser(http, token: HTTPBench.operatorToken)
            #expect(try await !viewer.get("/console/people?id=\(id)").text.contains("id=\"erase\""))
            #expect(try await `operator`.get("/console/people?id=\(id)").text.contains("id=\"erase\""))
            let answer = try await `operator`.submit(
                "/console/erasures", ["whisperId": id, "confirm": id, "sentMail": "keep", "reason": "asked"])
            #expect(answer.status == 303)
            #expect(try await bench.sql("SELECT count(*) FROM auth.guests") == "0")
        }
    }

    /// One that is stuck stands at the top, however many are done since.
    @Test func theConsoleShowsOpenErasuresFirstAndTheOldestOfThemAtTheTop() async throws {
        try await AuthBench.run { bench in
            try await bench.sql(
                """
                INSERT INTO auth.erasures (erasure_id, whisper_id, sent_mail, by, decided_at, finished_at)
                SELECT gen_random_uuid(), CASE WHEN n IN (3, 60) THEN n END, 'keep', 'operator', now(),
                    CASE WHEN n IN (3, 60) THEN NULL ELSE now() END
                FROM generate_series(1, 70) n
                """)
            let browser = try await ConsoleBrowser(try HTTPBench(admin: bench), token: HTTPBench.viewerToken)
            func numbers(_ page: String) -> [Int] {
                page.matches(of: #/>erasure-(\d+)</#).map { Int($0.1)! }
            }
            let first = try await browser.get("/console/erasures").text
            let one = try #require(numbers(first).first) - 3
            #expect(numbers(first).map { $0 - one } == [3, 60] + (21...70).reversed().filter { $0 != 60 })
            let older = try #require(first.firstMatch(of: #/id="older" href="([^"]*)"/#)).1
            let second = try await browser.get(String(older).replacing("&amp;", with: "&")).text
            // All of them, so that none is out of reach behind many that wait.
            #expect(numbers(second).map { $0 - one } == (1...20).reversed())
        }
    }

    @Test func operatorsEraseTwentyWithinAnHour() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            for number in UInt32(0)...20 {
                let somebody = TestIdentity(number: number)
                _ = try await bench.login(somebody)
                let answer = try await http.post(Self.path, self.wish(somebody.id()))
                #expect(number < 20 ? answer.status == 200 : answer.is(429, .rateLimited), "\(number) \(answer.text)")
            }
            bench.wait(.seconds(3_601))
            #expect(try await http.post(Self.path, self.wish(TestIdentity(number: 20).id())).status == 200)
        }
    }
}
