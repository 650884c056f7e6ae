import AuthTestKit
import Contract
import Foundation
import Testing

/// Operators choose who may register (contract §20.6), by `/admin` and at the console.
@Suite(.serialized, .timeLimit(.minutes(20))) struct DoorTests {
    private static let registration = "/admin/registration"
    private static let invitations = "/admin/invitations"

    private func put(
        _ http: HTTPBench, _ body: String, token: String = HTTPBench.operatorToken
    ) async throws
        -> HTTPBench.Answer
    {
        try await http.send(.put, Self.registration, authorization: "Bearer \(token)", body: body)
    }

    private func delete(
        _ http: HTTPBench, _ path: String, token: String = HTTPBench.operatorToken
    ) async throws -> HTTPBench.Answer {
        try await http.send(.delete, path, authorization: "Bearer \(token)")
    }

    @Test func anOperatorChoosesAndAViewerSees() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let usual = try await http.get(Self.registration, token: HTTPBench.viewerToken)
            #expect(usual.text == #"{"mode":"open","isDefault":true}"#)
            let wish = #"{"mode":"closed","reason":"spam"}"#
            #expect(try await self.put(http, wish, token: HTTPBench.viewerToken).is(403, .forbidden))
            #expect(try await self.delete(http, Self.registration, token: HTTPBench.viewerToken).is(403, .forbidden))
            for wrong in ["{}", #"{"mode":"closed"}"#, #"{"mode":"ajar","reason":"x"}"#] {
                #expect(try await self.put(http, wrong).is(400, .invalidPayload))
            }
            #expect(try await self.put(http, wish).status == 200)
            let chosen = try await http.get(Self.registration, token: HTTPBench.viewerToken).json
            #expect(chosen["mode"] as? String == "closed" && chosen["isDefault"] as? Bool == false)
            #expect(chosen["changedAt"] as? Int64 == bench.now.milliseconds)
            #expect(try await self.delete(http, Self.registration).status == 200)
            #expect(try await http.get(Self.registration, token: HTTPBench.viewerToken).text == usual.text)
            #expect(
                try await bench.sql(
                    "SELECT string_agg(note, ', ' ORDER BY number) FROM auth.audit_events WHERE result = 'ok' AND target = 'registration'"
                ) == "closed: spam, default")
        }
    }

    @Test func anInvitationsTokenIsToldOnceAndKeptNowhere() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            #expect(try await http.post(Self.invitations, "{}", token: HTTPBench.viewerToken).is(403, .forbidden))
            for wrong in [#"{"uses":0}"#, #"{"uses":1001}"#, #"{"expiresInSeconds":59}"#, #"{"label":""}"#] {
                #expect(try await http.post(Self.invitations, wrong).is(400, .invalidPayload))
            }
            let made = try await http.post(Self.invitations, #"{"uses":5,"label":"the choir"}"#).json
            let (token, id) = (made["token"] as! String, made["invitationId"] as! String)
            #expect(InvitationToken(token) != nil)
            #expect(made["expiresAt"] as? Int64 == (bench.now + .seconds(7 * 86_400)).milliseconds)
            let list = try await http.get(Self.invitations, token: HTTPBench.viewerToken)
            #expect(!list.text.contains(token))
            let entry = try #require((list.json["invitations"] as? [[String: Any]])?.first)
            #expect(entry["usesLeft"] as? Int == 5 && entry["label"] as? String == "the choir")
            #expect(entry["byIdentity"] as? Bool == false)
            let kept = try await bench.sql(
                "SELECT string_agg(t::text, ' ') FROM (SELECT i::text AS t FROM auth.invitations i UNION ALL SELECT a::text FROM auth.audit_events a) all_rows"
            )
            #expect(!kept.contains(token) && kept.contains(id))

            let path = "\(Self.invitations)/\(id)"
            #expect(try await self.delete(http, path, token: HTTPBench.viewerToken).is(403, .forbidden))
            for _ in 0..<2 { #expect(try await self.delete(http, path).status == 200) }
            #expect(try await self.delete(http, "\(Self.invitations)/x").is(400, .invalidPayload))
            #expect(try await self.delete(http, "\(Self.invitations)/\(UUIDText.random())").is(404, .notFound))
        }
    }

    @Test func thereIsABoundForOpenInvitations() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            try await bench.sql(
                """
                INSERT INTO auth.invitations (invitation_id, token_hash, uses_left, uses_max, expires_at, created_at)
                SELECT gen_random_uuid(), sha256(n::text::bytea), 1, 1, now() + interval '1 day', now()
                FROM generate_series(1, \(Limits.openInvitationsMax)) n
                """)
            #expect(try await http.post(Self.invitations, "{}").is(403, .forbidden))
            try await bench.sql("UPDATE auth.invitations SET uses_left = 0 WHERE number = 1")
            #expect(try await http.post(Self.invitations, "{}").status == 200)
            #expect(try await http.post(Self.invitations, "{}").is(403, .forbidden))
        }
    }

    @Test func aRoleThatInvitesTooOftenIsToldWhenToComeBack() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            var answer = try await http.post(Self.invitations, "{}")
            for _ in 0..<Rates.invitations.burst * 2 where answer.status == 200 {
                answer = try await http.post(Self.invitations, "{}")
            }
            #expect(answer.is(429, .rateLimited))
            #expect(try await http.get(Self.invitations, token: HTTPBench.operatorToken).status == 200)
        }
    }

    @Test func theConsoleChoosesInvitesAndRevokes() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let browser = try await ConsoleBrowser(http, token: HTTPBench.operatorToken)
            let viewer = try await ConsoleBrowser(http, token: HTTPBench.viewerToken)
            let page = "/console/registration"
            #expect(try await viewer.get(page).text.contains("There are no invitations."))
            #expect(!(try await viewer.get(page).text.contains("action=\"/console/registration\"")))
            #expect(try await browser.submit(page, ["mode": "invited", "reason": "spam"]).status == 303)
            #expect(try await viewer.get(page).text.contains("Somebody new needs an invitation"))
            let wish = ["uses": "2", "days": "7", "label": "a <choir>"]
            #expect(try await browser.post("/console/invitations", wish).status == 403)
            let answer = try await browser.submit("/console/invitations", wish)
            let token = try #require(answer.text.firstMatch(of: #/id="token"[^>]*value="([^"]*)"/#)).1
            #expect(answer.status == 200 && InvitationToken(token) != nil)
            let list = try await viewer.get(page).text
            #expect(list.contains("a &lt;choir&gt;") && !list.contains(token) && list.contains("0 of 2"))
            let id = try #require(list.firstMatch(of: #/data-invitation="([^"]*)"/#)).1
            #expect(try await browser.submit("/console/invitations/\(id)/revoke", [:]).status == 303)
            #expect(try await viewer.get(page).text.contains("revoked"))
            #expect(!answer.text.contains("chat.example.org"))

            let more = ["host": "chat.example.org:8443", "rateClass": "bot", "uses": "1", "days": "1"]
            let linked = try await browser.submit("/console/invitations", more).text
            let other = try #require(linked.firstMatch(of: #/id="token"[^>]*value="([^"]*)"/#)).1
            for link in [
                "https://chat.example.org:8443/invite#\(other)", "whisper://invite/chat.example.org:8443#\(other)",
            ] {
                #expect(linked.contains("readonly value=\"\(link)\""), "\(link)")
            }
            #expect(
                try await bench.sql("SELECT rate_class FROM auth.invitations ORDER BY number DESC LIMIT 1") == "bot")
            for wrong in [["host": "chat.example.org/x"], ["host": "a\"b"], ["rateClass": "fast"]] {
                let wish = more.merging(wrong) { $1 }
                #expect(try await browser.submit("/console/invitations", wish).status == 400, "\(wrong)")
            }
            #expect(try await bench.sql("SELECT count(*) FROM auth.invitations") == "2")
            let long = String(repeating: "x", count: Limits.banReasonCharacters.upperBound + 1)
            #expect(try await browser.submit(page, ["mode": "default", "reason": long]).status == 400)
            #expect(try await browser.submit(page, ["mode": "default", "reason": "over"]).status == 303)
            #expect(try await viewer.get(page).text.contains("As the setting REGISTRATION says."))
        }
    }
}
