import AuthTestKit
import Bus
import ClusterContract
import Contract
import Foundation
import HTTPAccess
import Hummingbird
import OperatorsCore
import ServerCrypto
import Store
import Testing

/// The operators' pages: who may, what a form does, and that it is all as with `/admin`.
@Suite(.serialized, .timeLimit(.minutes(20))) struct ConsoleTests {
    let alice = TestIdentity(1)
    let bob = TestIdentity(2)
    static let pages = [
        "", "/reports", "/reports?status=all", "/people", "/bans", "/registration", "/rate-classes", "/erasures",
        "/retention",
        "/messages", "/wake-ups", "/audit",
        "/audit?all=1&target=x",
    ].map { "/console\($0)" }

    // MARK: Signing in and out

    @Test func aSessionIsNoToken() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let stranger = ConsoleBrowser(http)
            for path in Self.pages {
                let answer = try await stranger.get(path)
                #expect(answer.status == 303 && answer.headers[.location] == "/console/login", "\(path)")
            }
            #expect(try await stranger.get("/console/login").status == 200)
            for token in ["", "x", HTTPBench.viewerToken + "x"] {
                let answer = try await stranger.post("/console/login", ["token": token])
                #expect(
                    answer.status == 401 && answer.headers[.setCookie] == nil
                        && answer.text.contains("No role has this token."))
            }
            // Blanks come with what is pasted.
            let answer = try await stranger.post("/console/login", ["token": " \(HTTPBench.operatorToken)\n"])
            #expect(answer.status == 303 && answer.headers[.location] == "/console")
            let cookie = try #require(answer.headers[.setCookie])
            let parts = cookie.components(separatedBy: "; ")
            #expect(Set(parts.dropFirst()) == ["HttpOnly", "SameSite=Strict", "Path=/console", "Max-Age=14400"])
            #expect(!cookie.contains(HTTPBench.operatorToken))
            let far = try await http.send(
                .post, "/console/login", authorization: nil, host: "ops.example.org",
                body: "token=\(HTTPBench.viewerToken)")
            #expect(far.headers[.setCookie]?.components(separatedBy: "; ").contains("Secure") == true)
            // Neither what the browser holds nor the token stands in the database.
            let id = try #require(Base64.decode(String(parts[0].dropFirst(ConsoleCookie.name.count + 1))))
            #expect(id.count == 33)
            let stored = try await bench.sql(
                "SELECT encode(id_hash, 'hex') || encode(role_mark, 'hex') FROM auth.console_sessions")
            #expect(!stored.contains(Self.hex(id)) && stored.contains(Self.hex(SHA256.hash(id).bytes)))
            for token in [HTTPBench.operatorToken, HTTPBench.viewerToken] {
                #expect(!stored.contains(Self.hex(SHA256.hash(Array(token.utf8)).bytes)))
            }
            // A session's cookie is no admin token, and an admin token no cookie.
            let value = String(parts[0].dropFirst(ConsoleCookie.name.count + 1))
            #expect(try await http.get("/admin/stats", token: value).is(401, .notRegistered))
            for wrong in [HTTPBench.operatorToken, value.lowercased(), value + "AAAA", "", "%"] {
                var browser = ConsoleBrowser(http)
                browser.cookie = wrong
                #expect(try await browser.get("/console").status == 303)
            }
        }
    }

    @Test func aSessionHoldsAtEveryProcessAndEnds() async throws {
        try await AuthBench.run { bench in
            let (one, other) = (try HTTPBench(admin: bench), try HTTPBench(admin: bench))
            let here = try await ConsoleBrowser(one, token: HTTPBench.operatorToken)
            var there = ConsoleBrowser(other)
            there.cookie = here.cookie
            for path in Self.pages { #expect(try await there.get(path).status == 200, "\(path)") }
            #expect(try await there.get("/console/login").headers[.location] == "/console")

            // A session of one operators' token does not hold with another.
            var rotated = ConsoleBrowser(try HTTPBench(admin: bench, operatorToken: "another-token-of-the-operators"))
            rotated.cookie = here.cookie
            #expect(try await rotated.get("/console").status == 303)

            // Without its token nobody signs them out.
            #expect(try await here.post("/console/logout", [:]).status == 403)
            let answer = try await there.submit("/console/logout", [:])
            #expect(answer.headers[.location] == "/console/login")
            #expect(answer.headers[.setCookie]?.contains("Max-Age=0") == true)
            #expect(try await here.get("/console").status == 303)
            #expect(try await bench.sql("SELECT count(*) FROM auth.console_sessions") == "0")

            let again = try await ConsoleBrowser(one, token: HTTPBench.viewerToken)
            bench.wait(.seconds(4 * 3_600 - 1))
            #expect(try await again.get("/console").status == 200)
            bench.wait(.seconds(1))
            #expect(try await again.get("/console").status == 303)
            // The next to come clears up.
            _ = try await ConsoleBrowser(one, token: HTTPBench.viewerToken)
            #expect(try await bench.sql("SELECT count(*) FROM auth.console_sessions") == "1")
        }
    }

    @Test func wrongTokensAreCountedTogether() async throws {
        try await AuthBench.run { bench in
            let stranger = ConsoleBrowser(try HTTPBench(admin: bench))
            var answer = try await stranger.post("/console/login", ["token": "x"])
            // 600 a minute; a slow machine is given more while it asks.
            for _ in 0..<5_000 where answer.status == 401 {
                answer = try await stranger.post("/console/login", ["token": "x"])
            }
            #expect(answer.status == 429 && answer.headers[.retryAfter] != nil)
            // One count for both doors; the operators have their own.
            #expect(try await stranger.http.get("/admin/stats", token: "x").is(429, .rateLimited))
            #expect(try await ConsoleBrowser(stranger.http, token: HTTPBench.viewerToken).get("/console").status == 200)
        }
    }

    @Test func noPageLeavesItsWindow() async throws {
        try await AuthBench.run { bench in
            let browser = try await ConsoleBrowser(try HTTPBench(admin: bench), token: HTTPBench.operatorToken)
            let answers = try await [
                browser.get("/console"), browser.get("/console/console.css"), browser.get("/console/icon.svg"),
                ConsoleBrowser(browser.http).get("/console"), ConsoleBrowser(browser.http).get("/console/login"),
                browser.post("/console/ban", [:]), browser.get("/console/reports?status=x"),
            ]
            #expect(answers.map(\.status) == [200, 200, 200, 303, 200, 403, 400])
            for answer in answers {
                #expect(answer.headers[.contentSecurityPolicy]?.hasPrefix("default-src 'none'; ") == true)
                #expect(answer.headers[.contentSecurityPolicy]?.contains("frame-ancestors 'none'") == true)
                #expect(
                    answer.headers[.init("X-Frame-Options")!] == "DENY" && answer.headers[.cacheControl] == "no-store")
                #expect(answer.headers[.init("Referrer-Policy")!] == "no-referrer")
                #expect(answer.headers[.xContentTypeOptions] == "nosniff")
            }
            // Nothing from elsewhere, no script, no style in the page.
            let cookie = try #require(browser.cookie)
            for path in Self.pages {
                let page = try await browser.get(path).text
                #expect(
                    !page.contains("<script") && !page.contains("style=") && !page.contains("://")
                        && !page.contains("onclick"), "\(path)")
                #expect(!page.contains(HTTPBench.operatorToken) && !page.contains(cookie))
            }
        }
    }

    // MARK: Forms

    @Test func onlyTheSessionsOwnFormsAreTaken() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            _ = try await bench.login(self.alice)
            let (browser, other) = try await (
                ConsoleBrowser(http, token: HTTPBench.operatorToken),
                ConsoleBrowser(http, token: HTTPBench.operatorToken)
            )
            let ban = ["whisperId": "\(self.alice.id())", "reason": "spam", "term": "day"]
            for token in [nil, "", "x", try await other.formToken()] {
                var fields = ban
                fields["form"] = token
                #expect(try await browser.post("/console/ban", fields).status == 403)
            }
            let genuine = ban.merging(["form": try await browser.formToken()]) { $1 }
            for site in ["cross-site", "same-site", "none"] {
                #expect(try await browser.post("/console/ban", genuine, site: site).status == 403, "\(site)")
                #expect(
                    try await ConsoleBrowser(http).post(
                        "/console/login", ["token": HTTPBench.operatorToken], site: site
                    ).status == 403)
            }
            #expect(try await ConsoleBrowser(http).post("/console/ban", genuine).headers[.location] == "/console/login")
            #expect(try await bench.sql("SELECT count(*) FROM auth.bans") == "0")
            #expect(
                try await bench.sql(
                    "SELECT count(*) FROM auth.audit_events WHERE action = 'ban' AND result = 'FORBIDDEN'") == "7")
            // Browsers that do not say where a request comes from have the token.
            #expect(try await browser.post("/console/ban", genuine, site: nil).status == 303)
            #expect(try await bench.sql("SELECT count(*) FROM auth.bans") == "1")
        }
    }

    @Test func viewersLook() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            let target = try await bench.login(self.alice)
            try await self.report(bench, by: try await bench.login(self.bob), about: self.alice)
            let id = try await bench.sql("SELECT id FROM auth.reports")
            _ = try await bench.bans.ban(
                .identity(self.bob.id()), reason: "x", until: nil, recording: AuditEvent(.operator, "ban"))
            let (viewer, `operator`) = try await (
                ConsoleBrowser(http, token: HTTPBench.viewerToken), ConsoleBrowser(http, token: HTTPBench.operatorToken)
            )
            for path in ["/console/reports", "/console/bans"] {
                let page = try await viewer.get(path).text
                #expect(page.components(separatedBy: "<form").count == 2 && page.contains("action=\"/console/logout\""))
                #expect(try await `operator`.get(path).text.components(separatedBy: "<form").count > 2)
            }
            let fields = ["whisperId": "\(self.alice.id())", "reason": "x", "decision": "ban"]
            for path in ["/console/ban", "/console/unban", "/console/reports/\(id)/review"] {
                let token = try await `operator`.formToken()
                #expect(try await viewer.post(path, fields.merging(["form": token]) { $1 }).status == 403)
                let answer = try await viewer.submit(path, fields)
                #expect(answer.status == 403 && answer.text.contains("viewers may only read"))
            }
            #expect(try await bench.session(target.session.tokenHash)?.isBanned == false)
            #expect(
                try await bench.sql(
                    "SELECT string_agg(DISTINCT actor || ' ' || action || ' ' || result, ', ') FROM auth.audit_events WHERE result <> 'ok'"
                ) == "viewer ban FORBIDDEN, viewer reviewReport FORBIDDEN, viewer unban FORBIDDEN")
        }
    }

    @Test func aGuestIsBannedByTheSameForm() async throws {
        try await AuthBench.run { bench in
            let browser = try await ConsoleBrowser(try HTTPBench(admin: bench), token: HTTPBench.operatorToken)
            let guest = try await bench.prove(self.alice).guest
            let ban = ["whisperId": " \(guest.id) ", "reason": "spam", "term": "forever"]
            #expect(try await browser.submit("/console/ban", ban).headers[.location] == "/console/bans?done=banned")
            #expect(try await bench.guest(guest.tokenHash)?.isBanned == true)
            #expect(try await browser.get("/console/bans").text.contains("data-ban=\"\(guest.id)\""))
            #expect(
                try await browser.submit("/console/unban", ["whisperId": "\(guest.id)", "reason": "appeal"])
                    .headers[.location] == "/console/bans?done=lifted")
            #expect(try await bench.guest(guest.tokenHash)?.isBanned == false)
        }
    }

    @Test func formsDoWhatTheAPIDoes() async throws {
        try await AuthBench.run(instances: 1) { bench in
            let http = try HTTPBench(admin: bench)
            let target = try await bench.login(self.alice)
            let reporter = try await bench.login(self.bob)
            let browser = try await ConsoleBrowser(http, token: HTTPBench.operatorToken)
            func done() async throws -> String {
                try await bench.sql(
                    "SELECT string_agg(concat_ws(' ', actor, action, target, result, note), ', ' ORDER BY number) FROM auth.audit_events WHERE action NOT LIKE 'list%' AND number > coalesce((SELECT max(number) FROM auth.audit_events WHERE action IN ('consoleLogin', 'mark')), 0)"
                )
            }
            func mark() async throws {
                try await bench.sql(
                    "INSERT INTO auth.audit_events (at, actor, action, result) VALUES (now(), 'system', 'mark', 'ok')")
            }
            let alice = "\(self.alice.id())"

            let ban = ["whisperId": " \(alice) ", "reason": "spam & more", "term": "week"]
            #expect(try await browser.submit("/console/ban", ban).headers[.location] == "/console/bans?done=banned")
            let bans = try await http.get("/admin/bans", token: HTTPBench.viewerToken).json["bans"] as! [[String: Any]]
            #expect(
                bans[0]["expiresAt"] as? Int64 == bench.now.milliseconds + 7 * 86_400_000
                    && bans[0]["reason"] as? String == "spam & more")
            #expect(try await bench.session(target.session.tokenHash)?.isBanned == true)
            #expect(
                try await browser.submit("/console/unban", ["whisperId": alice, "reason": "appeal"]).headers[.location]
                    == "/console/bans?done=lifted")
            #expect(try await bench.session(target.session.tokenHash)?.isBanned == false)
            let byForm = try await done()
            try await mark()
            _ = try await http.post(
                "/admin/ban",
                #"{"whisperId":"\#(alice)","reason":"spam & more","expiresAt":\#(bench.now.milliseconds + 1)}"#)
            _ = try await http.post("/admin/unban", #"{"whisperId":"\#(alice)","reason":"appeal"}"#)
            #expect(try await done() == byForm)

            try await self.report(bench, by: reporter, about: self.alice)
            let id = try await bench.sql("SELECT id FROM auth.reports")
            let review = "/console/reports/\(id)/review"
            for (fields, status) in [
                (["decision": "dismiss", "term": "day"], "dismissed"),
                (["decision": "warn", "note": " mind \"it\" "], "warned"),
                (["decision": "ban", "term": "hour", "note": ""], "banned"),
            ] {
                try await mark()
                #expect(
                    try await browser.submit(review, fields).headers[.location] == "/console/reports?done=\(status)")
                #expect(try await bench.sql("SELECT status FROM auth.reports") == status)
                #expect(try await bench.sql("SELECT count(*) FROM auth.bans") == (status == "banned" ? "1" : "0"))
            }
            #expect(
                try await done()
                    == "operator reviewReport \(id) ok ban, operator ban \(alice) ok spam, system sessionsEnded \(alice) ok"
            )
            #expect(try await bench.sql("SELECT review_note IS NULL FROM auth.reports") == "t")
            bench.wait(.seconds(3_600))
            try await bench.bans.sweep()
            #expect(try await bench.sql("SELECT count(*) FROM auth.bans") == "0")

            // The same schema judges both.
            let long = String(repeating: "x", count: 1_001)
            for (path, fields, status) in [
                ("/console/ban", ["whisperId": alice], 400),
                ("/console/ban", ["whisperId": alice, "reason": long], 400),
                ("/console/ban", ["whisperId": "WSP-1", "reason": "x"], 400),
                ("/console/ban", ["whisperId": alice, "reason": "x", "term": "year"], 400),
                ("/console/unban", ["whisperId": alice], 400),
                ("/console/ban", ["whisperId": "\(TestIdentity(9).id())", "reason": "x"], 404),
                (review, ["decision": "kill"], 400), (review, [:], 400),
                (review, ["decision": "warn", "note": long], 400),
                ("/console/reports/nonsense/review", ["decision": "warn"], 400),
                ("/console/reports/\(UUIDText.random())/review", ["decision": "warn"], 404),
            ] {
                let answer = try await browser.submit(path, fields)
                #expect(
                    answer.status == status && answer.text.hasPrefix("<!doctype html>"),
                    "\(path) \(fields.mapValues { $0.prefix(20) })")
            }
            let flood = try await browser.submit("/console/ban", ["reason": String(repeating: "x", count: 20_000)])
            #expect(flood.status == 400)
            #expect(try await bench.sql("SELECT count(*) FROM auth.bans") == "0")
        }
    }

    // MARK: Pages

    @Test func pagesShowWhatThereIs() async throws {
        try await AuthBench.run { bench in
            let http = try HTTPBench(admin: bench)
            _ = try await bench.login(self.alice)
            let reporter = try await bench.login(self.bob)
            let note = "<img src=x onerror=alert(1)> & more"
            try await self.report(bench, by: reporter, about: self.alice, note: note)
            let browser = try await ConsoleBrowser(http, token: HTTPBench.operatorToken)
            let overview = try await browser.get("/console").text
            for (name, value) in [
                ("users", 2), ("devices", 2), ("sessions", 2), ("reportsOpen", 1), ("bansActive", 0), ("guests", 0),
                ("online", 0), ("profiles", 0),
            ] {
                #expect(overview.contains("id=\"\(name)\">\(value)<"), "\(name)")
            }
            #expect(overview.contains("consoleLogin") && !overview.contains("http-equiv=\"refresh\""))
            #expect(try await browser.get("/console?live=1").text.contains("http-equiv=\"refresh\" content=\"30\""))
            let reports = try await browser.get("/console/reports").text
            #expect(
                reports.contains("&lt;img src=x onerror=alert(1)&gt; &amp; more") && !reports.contains("<img src=x"))
            #expect(reports.contains("No evidence") && !reports.contains("Evidence verified"))
            #expect(reports.contains("\(self.alice.id())") && reports.contains("\(self.bob.id())"))
            #expect(try await browser.get("/console/reports?status=warned").text.contains("No reports here."))
            for path in [
                "/console/reports?status=closed", "/console/reports?cursor=1", "/console/audit?cursor=",
                "/console/audit?target=\(String(repeating: "x", count: 65))",
            ] {
                #expect(try await browser.get(path).status == 400, "\(path)")
            }
            #expect(try await browser.get("/console/messages?id=nonsense").status == 400)
            #expect(
                try await browser.get("/console/messages?id=\(UUIDText.random())").text.contains(
                    "nobody sent such a message lately"))
            // Only what was done, unless everything is asked for.
            let changes = try await browser.get("/console/audit").text
            #expect(
                changes.contains("consoleLogin") && !changes.contains("getOverview") && !changes.contains("listReports")
            )
            let all = try await browser.get("/console/audit?all=1").text
            #expect(
                all.contains("consoleLogin") && all.contains("getOverview") && all.contains("listReports")
                    && all.contains("NOT_FOUND"))
        }
    }

    /// The first page says which services are there, and names what it cannot know.
    @Test func theFirstPageSaysHowTheClusterIs() async throws {
        try await AuthBench.run(instances: 1, alone: true) { bench in
            let browser = try await ConsoleBrowser(try HTTPBench(admin: bench), token: HTTPBench.viewerToken)
            func state(of service: String) async throws -> String? {
                let page = try await browser.get("/console").text
                let line = page.split(separator: "<li ").first { $0.hasPrefix("data-service=\"\(service)\"") }
                return line?.firstMatch(of: #/class="tag (\w+)">([^<]*)</#).map { "\($0.1) \($0.2)" }
            }
            #expect(try await state(of: "auth") == "good \(Release.version)")
            #expect(try await state(of: "router") == "bad not connected")
            #expect(try await state(of: "gateway") == "calm none seen")
            #expect(try await !browser.get("/console").text.contains("Two or more releases"))

            let other = PostgresPool(
                PostgresConfiguration(
                    url: bench.database.url(user: "whisper_router"),
                    applicationName: ProcessName("router", 1, release: "9.8.7").text), connections: 1, logger: quiet)
            defer { other.close() }
            try await bench.addRouter()
            try await bench.sql("ALTER ROLE whisper_router LOGIN")
            _ = try await other.query("SELECT 1")
            #expect(try await state(of: "router") == "good 9.8.7")
            #expect(try await browser.get("/console").text.contains("Two or more releases"))

            // A gateway is seen by who is connected to it, and tells its release.
            let login = try await bench.login(self.alice)
            let presence = Presence(
                node: bench.near, connection: ConnectionID(value: 1), epoch: login.session.caller.epoch)
            try await bench.bus.set(Keyspace.presence(self.alice.id()), to: presence.encoded(), for: .seconds(60))
            #expect(try await state(of: "gateway") == "calm none seen")
            try await bench.bus.set(Keyspace.alive(bench.near), to: Array("9.8.7".utf8), for: .seconds(60))
            #expect(try await state(of: "gateway") == "good 9.8.7")
            try await bench.bus.set(Keyspace.alive(bench.near), to: [1], for: .seconds(60))
            #expect(try await state(of: "gateway") == "good a release that does not tell")
        }
    }

    @Test func theFirstPageSaysHowMailAndBackupAre() async throws {
        try await AuthBench.run(instances: 1, alone: true) { bench in
            let browser = try await ConsoleBrowser(try HTTPBench(admin: bench), token: HTTPBench.viewerToken)
            func page() async throws -> String { try await browser.get("/console").text }
            let first = try await page()
            for words in ["not known yet", "none has ever connected", "not watched", "not known (PROMETHEUS)"] {
                #expect(first.contains(words), "\(words)")
            }
            try await bench.addRouter()
            #expect(try await page().contains("not known yet"))
            try await bench.sql("SELECT setval('router.mail_numbers', 1000)")
            bench.wait(.seconds(30))
            #expect(try await page().contains("1,998 a minute, over the last 30 s"))
            try await bench.sql("SELECT pg_create_physical_replication_slot('whisper_backup', true)")
            #expect(try await page().contains("not connected, "))
            #expect(try await !page().contains("none has ever connected"))
        }
    }

    @Test func listsComeInPages() async throws {
        try await AuthBench.run { bench in
            let browser = try await ConsoleBrowser(try HTTPBench(admin: bench), token: HTTPBench.viewerToken)
            try await bench.sql(
                "INSERT INTO auth.audit_events (at, actor, action, target, result) SELECT now(), 'system', 'event', 'event-' || n, 'ok' FROM generate_series(1, 120) n"
            )
            var (path, seen) = ("/console/audit", [String]())
            for count in [50, 50, 21] {
                let page = try await browser.get(path).text
                let events = page.matches(of: #/<td data-label="What">(\w+)/#).map { String($0.1) }
                #expect(events.count == count)
                seen += events
                path =
                    page.firstMatch(of: #/id="older" href="([^"]*)"/#).map {
                        String($0.1).replacing("&amp;", with: "&")
                    } ?? ""
            }
            #expect(path == "" && seen.count == 121 && seen.last == "consoleLogin")
        }
    }

    @Test func withoutRedisOrPostgresNobodyIsLetIn() async throws {
        try await AuthBench.run(alone: true) { bench in
            let browser = try await ConsoleBrowser(try HTTPBench(admin: bench), token: HTTPBench.viewerToken)
            bench.bus.goAway()
            #expect(try await browser.get("/console").status == 500)
            #expect(try await browser.post("/console/login", ["token": HTTPBench.viewerToken]).status == 500)
            bench.bus.comeBack()
            #expect(try await browser.get("/console").status == 200)
            await bench.database.server.kill()
            let answer = try await browser.get("/console")
            #expect(answer.status == 500 && answer.text.contains("Something went wrong"))
            #expect(try await browser.post("/console/login", ["token": HTTPBench.viewerToken]).status == 500)
        }
    }

    // MARK: -

    private func report(
        _ bench: AuthBench, by reporter: AuthBench.Login, about target: TestIdentity, note: String = "a note"
    ) async throws {
        _ = try await bench.send(
            "report",
            #"{"protocolVersion":1,"cryptoVersion":1,"targetId":"\#(target.id())","reason":"spam","note":"\#(note)"}"#,
            session: reporter.session
        ).reply("report_ack")
    }

    private static func hex(_ bytes: [UInt8]) -> String {
        bytes.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}
