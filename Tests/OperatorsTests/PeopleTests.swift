import AuthTestKit
import Contract
import Foundation
import Testing

/// One identity, as operators find it and change it (contract §20.5), by `/admin` and on the console's page People.
@Suite(.serialized, .timeLimit(.minutes(20))) struct PeopleTests {
    private let alice = TestIdentity(1)
    private let bob = TestIdentity(2)

    private func path(_ id: WhisperID) -> String { "/admin/identities/\(id)" }

    @Test func anIdentityIsFoundInNumbers() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            _ = try await bench.login(self.alice)
            _ = try await bench.login(self.bob)
            let id = self.alice.id()
            // Before the other services have made their tables.
            let alone = try await http.get(self.path(id), token: HTTPBench.viewerToken)
            #expect(alone.status == 200 && alone.json["groups"] as? Int == 0 && alone.json["files"] as? Int == 0)
            try await bench.addRouter()
            try await bench.addAttachments()
            try await self.addHoldings(bench)

            let answer = try await http.get(self.path(id), token: HTTPBench.viewerToken)
            #expect(answer.status == 200)
            let json = answer.json
            #expect(
                Set(json.keys) == [
                    "whisperId", "createdAt", "seenOn", "platform", "isBanned", "waitingMessages", "groups", "files",
                    "fileBytes",
                ])
            #expect(json["whisperId"] as? String == "\(id)" && json["isBanned"] as? Bool == false)
            #expect(json["platform"] as? String == "ios")
            #expect(json["seenOn"] as? String == Self.day(bench.now))
            let numbers = ["waitingMessages", "groups", "files", "fileBytes"].map { json[$0] as? Int }
            #expect(numbers == [3, 1, 2, 30])
            #expect(
                try await http.get(self.path(self.bob.id()), token: HTTPBench.viewerToken).json["groups"] as? Int == 1)
        }
    }

    @Test func aLoginAndARenewalAreSeenAndALogoutForgetsNoDay() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let login = try await bench.login(self.alice)
            bench.wait(.seconds(3 * 86_400))
            _ = try await bench.send(
                "session_refresh", AuthBench.privileged, session: login.session, token: login.token
            ).refreshed()
            func seen() async throws -> Any? {
                try await http.get(self.path(self.alice.id()), token: HTTPBench.viewerToken).json["seenOn"]
            }
            #expect(try await seen() as? String == Self.day(bench.now))
            let day = try await seen() as? String
            bench.wait(.seconds(3 * 86_400))
            try await bench.sql("DELETE FROM auth.sessions")
            #expect(try await seen() as? String == day)
            _ = try await bench.login(self.alice)
            #expect(try await seen() as? String == Self.day(bench.now))
        }
    }

    @Test func theAuditLogNamesOnlyWhoIsThere() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            _ = try await bench.login(self.alice)
            #expect(try await http.get(self.path(self.alice.id()), token: "x").is(401, .notRegistered))
            #expect(try await http.get(self.path(self.bob.id()), token: HTTPBench.viewerToken).is(404, .notFound))
            #expect(
                try await http.get("/admin/identities/WSP-1", token: HTTPBench.viewerToken).is(400, .invalidPayload))
            #expect(try await http.get(self.path(self.alice.id()), token: HTTPBench.viewerToken).status == 200)
            #expect(
                try await bench.sql(
                    "SELECT string_agg(concat_ws(' ', actor, result, target), ', ' ORDER BY number) FROM auth.audit_events WHERE action = 'getIdentity'"
                ) == "nobody NOT_REGISTERED, viewer NOT_FOUND, viewer INVALID_PAYLOAD, viewer ok \(self.alice.id())")
        }
    }

    // MARK: The console

    @Test func thePageFindsSomebodyByTheID() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            _ = try await bench.login(self.alice)
            let viewer = try await ConsoleBrowser(http, token: HTTPBench.viewerToken)
            let `operator` = try await ConsoleBrowser(http, token: HTTPBench.operatorToken)
            #expect(try await viewer.get("/console/people").text.contains("aria-current=\"page\">People"))
            for (asked, status) in [("nonsense", 400), ("\(self.bob.id())", 404)] {
                let page = try await viewer.get("/console/people?id=\(asked)")
                #expect(page.status == status && page.text.contains("role=\"alert\"") && page.text.contains(asked))
            }
            // Blanks and small letters come with what is typed.
            let asked = "/console/people?id=%20\("\(self.alice.id())".lowercased())%20"
            let seen = try await viewer.get(asked)
            #expect(seen.status == 200 && seen.text.contains("not banned") && seen.text.contains("ios"))
            #expect(!seen.text.contains("action=\"/console/ban\"") && !seen.text.contains("id=\"erase\""))
            let page = try await `operator`.get(asked).text
            #expect(page.contains("id=\"ban\"") && page.contains("id=\"erase\"") && !page.contains("id=\"unban\""))
            #expect(
                try await `operator`.submit("/console/ban", ["whisperId": "\(self.alice.id())", "reason": "x"]).status
                    == 303)
            let banned = try await `operator`.get(asked).text
            #expect(banned.contains("id=\"unban\"") && banned.contains(">banned<") && !banned.contains("id=\"ban\""))
        }
    }

    @Test func erasingAsksForTheIDAgain() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            _ = try await bench.login(self.alice)
            let browser = try await ConsoleBrowser(http, token: HTTPBench.operatorToken)
            func post(_ confirm: WhisperID) async throws -> HTTPBench.Answer {
                try await browser.submit(
                    "/console/erasures",
                    [
                        "whisperId": "\(self.alice.id())", "confirm": "\(confirm)", "sentMail": "keep",
                        "reason": "asked",
                    ])
            }
            #expect(try await post(self.bob.id()).status == 400)
            #expect(try await bench.sql("SELECT count(*) FROM auth.identities") == "1")
            #expect(try await post(self.alice.id()).status == 303)
            #expect(try await bench.sql("SELECT count(*) FROM auth.identities") == "0")
            let after = try await browser.get("/console/erasures?done=erased")
            #expect(after.text.contains("erasure-1") && !after.text.contains("\(self.alice.id())"))
            #expect(try await browser.get("/console/people?id=\(self.alice.id())").status == 404)
        }
    }

    // MARK: -

    /// For alice: three messages that wait, a group with bob, two files, one that nobody has uploaded and one that is being deleted.
    private func addHoldings(_ bench: AuthBench) async throws {
        let (alice, bob) = (self.alice.id().bits, self.bob.id().bits)
        try await bench.sql(
            """
            INSERT INTO router.mailbox (recipient, number, sender, message_id, accepted_at, id_case, payload)
            SELECT CASE WHEN n < 4 THEN \(alice) ELSE \(bob) END, n, \(bob), gen_random_uuid(), now(), 0, ''
            FROM generate_series(1, 5) AS n;
            WITH made AS (
                INSERT INTO router.groups VALUES (gen_random_uuid(), 'a choir', \(alice), 1, now(), now())
                RETURNING group_id)
            INSERT INTO router.group_members (group_id, member, role, joined_at)
            SELECT group_id, member, role, now()
            FROM made, (VALUES (\(alice)::bigint, 0::smallint), (\(bob), 2::smallint)) AS members (member, role);
            INSERT INTO attachments.attachments (
                object_key, uploader, size_bytes, content_type, class, state, created_at, expires_at, uploaded_at)
            VALUES ('a', \(alice), 10, 'image/png', 0, 1, now(), now(), now()),
                ('b', \(alice), 20, 'image/png', 0, 2, now(), now(), now()),
                ('c', \(alice), 40, 'image/png', 0, 0, now(), now(), NULL),
                ('d', \(alice), 80, 'image/png', 0, 3, now(), now(), now()),
                ('e', \(bob), 160, 'image/png', 0, 1, now(), now(), now())
            """)
    }

    private static func day(_ time: Timestamp) -> String {
        Date(timeIntervalSince1970: Double(time.milliseconds / 1_000)).formatted(.iso8601.year().month().day())
    }
}
