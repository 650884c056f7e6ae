import Foundation
import LocalStack
import TestKit
import Testing

/// The operators' pages in a real browser, with two auth processes behind the balancer: whoever signs in at one is known to the other.
///
/// With `PICTURES=folder` in the environment, pictures of the pages are left in that folder.
@Suite(.cluster(pairsBehindBalancer), .atATime(3))
struct ConsoleCluster {
    private static var pages: [String] {
        [
            "", "/reports", "/people", "/bans", "/registration", "/rate-classes", "/erasures", "/retention",
            "/messages", "/wake-ups", "/audit",
        ].map {
            "/console\($0)"
        }
    }

    @Test func theConsoleStandsOnTheOpsOriginAlone() async throws {
        let stack = Cluster.stack
        for path in Self.pages + ["/console/login", "/console/console.css"] {
            for port in [stack.ports.public, stack.ports[.auth, 1]!.http!, stack.ports[.gateway, 1]!.ops] {
                let answer = try await HTTPCall("GET", "http://127.0.0.1:\(port)\(path)").answer()
                #expect(answer.is(404, "NOT_FOUND"), "\(port)\(path)")
            }
            let expected = path.hasSuffix("login") || path.hasSuffix("css") ? 200 : 303
            #expect(try await HTTPCall("GET", stack.opsURL + path).answer().status == expected, "\(path)")
        }
        #expect(try await HTTPCall("GET", stack.opsURL + "/consolexyz").answer().status == 404)
    }

    /// A person who types an address without a path is led on: operators to the console, everybody else to the page of rooms.
    @Test func theRootOfEachPortIsForPeople() async throws {
        let ops = try await HTTPCall("GET", Cluster.stack.opsURL + "/").answer()
        #expect(ops.status == 302 && ops.headers["location"] == "/console")
        let door = try await HTTPCall("GET", Cluster.stack.publicURL + "/").answer()
        #expect(door.status == 200 && door.headers["content-type"]?.hasPrefix("text/html") == true)
    }

    /// Each metric of each running service, as Prometheus reads it.
    @Test func everyMetricOfEveryServiceIsExplained() async throws {
        for (service, instances) in Cluster.stack.ports.services {
            let port = try #require(instances.first?.ops)
            let lines = try #require(await LoopbackRequest.get("/metrics", port: port)).body.split(separator: "\n")
            let names = lines.filter { $0.hasPrefix("# TYPE ") }.map { $0.split(separator: " ")[2] }
            let explained = lines.filter { $0.hasPrefix("# HELP ") }.map { $0.split(separator: " ")[2] }
            #expect(names.count > 10 && names == explained, "\(service)")
        }
    }

    /// Found, banned, unbanned and erased: by keyboard alone, in a window of 320 pixels too.
    @Test func somebodyIsFoundAndErasedByKeyboard() async throws {
        let console = Cluster.stack.opsURL + "/console"
        let enter = "\u{E007}"
        let alice = try await Cluster.phone()
        try await Browser.open { browser in
            try await browser.go(to: console)
            try await self.signIn(browser, Cluster.stack.configuration.adminToken)
            try await self.shows("Overview", browser, in: "h1")
            try await self.tab(to: "nav a[href='/console/people']", browser)
            try await browser.press(enter)
            try await self.shows("People", browser, in: "h1")
            try await self.tab(to: "#id", browser)
            try await browser.press(alice.id + enter)
            try await self.shows("not banned", browser, in: "#status")
            #expect(try await browser.text(of: "#person").contains("ios"))
            try await self.picture("people", browser)
            try await browser.resize(width: 320, height: 700)
            try await self.picture("people-320", browser)

            try await self.tab(to: "#ban [name=reason]", browser)
            try await browser.press("a test" + enter)
            try await self.shows("Banned.", browser)
            #expect(try await alice.client.end().code == 4003)
            // Lists have a row now.
            for path in Self.pages + ["/console/people?id=\(alice.id)"] {
                try await browser.go(to: Cluster.stack.opsURL + path)
                #expect(try await PageCluster.overhang(browser) == 0, "\(path)")
            }
            try await browser.go(to: console + "/registration")
            try await self.tab(to: "#invite [name=host]", browser)
            try await browser.press("chat.example.org" + enter)
            try await self.shows("Invitation", browser, in: "h1")
            #expect(try await PageCluster.overhang(browser) == 0)
            try await self.picture("invited-320", browser)
            // The keyboard selects a whole link, for its copy.
            try await self.tab(to: "#web", browser)
            let selected = try await browser.value(of: "return getSelection().toString()").string
            let token = try await browser.value(of: "return document.querySelector('#token').value").string
            #expect(selected == "https://chat.example.org/invite#\(token ?? "")")
            try await browser.go(to: console + "/people?id=\(alice.id)")
            try await self.shows("banned", browser, in: "#status")
            try await self.tab(to: "#unban [name=reason]", browser)
            try await browser.press("a mistake" + enter)
            try await self.shows("The ban has ended.", browser)

            try await browser.go(to: console + "/people?id=\(alice.id)")
            try await self.tab(to: "#erase [name=confirm]", browser)
            try await browser.press(alice.id)
            try await self.tab(to: "#erase [name=reason]", browser)
            try await browser.press("asked by letter" + enter)
            try await self.shows("Erased.", browser)
            try await browser.go(to: console + "/people?id=\(alice.id)")
            try await self.shows("no such", browser)
        }
        let gone = try await Cluster.client().ask("register_begin", alice.person.begin(as: alice.id))
        #expect(gone.errorCode == "NOT_FOUND")
    }

    @Test(.enabled(if: Axe.isExpected, "needs deploy/install-python-tools.sh"))
    func everybodyCanUseTheConsole() async throws {
        let axe = try Axe.source()
        let alice = try await Cluster.phone()
        try await Browser.open { browser in
            try await browser.go(to: Cluster.stack.opsURL)
            try await PageCluster.examine(browser, axe, "login", isEnhanced: false)
            try await self.signIn(browser, Cluster.stack.configuration.adminToken)
            try await self.shows("Overview", browser, in: "h1")
            for isDark in [false, true] {
                try await browser.prefer(dark: isDark)
                for path in Self.pages + ["/console/people?id=\(alice.id)"] {
                    try await browser.go(to: Cluster.stack.opsURL + path)
                    try await PageCluster.examine(browser, axe, "\(path), dark \(isDark)", isEnhanced: false)
                }
            }
            try await browser.go(to: Cluster.stack.opsURL)
            try await self.picture("health", browser)
        }
    }

    @Test func operatorsWorkInABrowser() async throws {
        try await Browser.open { browser in try await self.work(in: browser) }
    }

    private func work(in browser: Browser) async throws {
        let stack = Cluster.stack
        let console = stack.opsURL + "/console"
        let (alice, mallory, bob) = (
            try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2), try await Cluster.phone()
        )

        // Signing in.
        try await browser.go(to: console)
        #expect(try await browser.address == console + "/login")
        try await self.signIn(browser, "not the token")
        try await self.shows("No role has this token.", browser)
        try await self.picture("login", browser)
        try await self.signIn(browser, stack.configuration.adminToken)
        try await self.shows("Overview", browser, in: "h1")
        #expect(try await browser.value(of: "return document.cookie") == .string(""))
        let cookie = try await browser.cookie("whisper_console")
        #expect(
            cookie["httpOnly"] == .bool(true) && cookie["sameSite"]?.string == "Strict"
                && cookie["path"]?.string == "/console")
        // Each auth process knows the session, and neither knows a changed one.
        let value = try #require(cookie["value"]?.string)
        for number in [1, 2] {
            let url = "http://127.0.0.1:\(try #require(stack.ports[.auth, number]).ops)/console/audit"
            #expect(
                try await HTTPCall("GET", url, headers: ["Cookie": "whisper_console=\(value)"]).answer().status == 200)
            #expect(
                try await HTTPCall("GET", url, headers: ["Cookie": "whisper_console=\(value.reversed())"]).answer()
                    .status == 303)
        }

        // A report that two clients have brought about, with words that want to be more than words.
        let letter = try await alice.received(try await mallory.text(alice)).payload
        let note = #"<img src=x onerror="document.title='owned'"> sends this every day"#
        let report = try await alice.ask(
            "report", ["targetId": mallory.id, "reason": "spam", "note": note, "evidence": letter]
        )
        .expecting("report_ack").payload["reportId"]?.string
        let other = try await alice.ask("report", ["targetId": bob.id, "reason": "other"]).expecting("report_ack")
            .payload["reportId"]?.string
        try await browser.reload()
        let figures = try await Operators.get("/admin/stats").body
        for name in ["users", "devices", "sessions", "online", "reportsOpen", "bansActive", "guests", "groups"] {
            #expect(try await browser.text(of: "#\(name)") == "\(try #require(figures[name]?.integer))", "\(name)")
        }
        #expect(try await browser.text(of: "#reportsOpen") == "2")
        #expect(try await browser.text(of: "#databaseBytes").hasSuffix("iB"))
        // As a router's sweep would write it.
        try await stack.postgres.run(
            """
            INSERT INTO router.full_mailboxes
            SELECT whisper_id, 9000, 52428800, 0.9, now() FROM auth.identities ORDER BY created_at LIMIT 1
            """, database: "whisper")
        try await browser.reload()
        #expect(try await browser.text(of: "#fullestMailboxes").contains("90 % full"))
        #expect(try await browser.text(of: "#fullestMailboxes").contains("50.0 MiB"))
        try await browser.click(".figure a[href='/console/reports']")
        let article = "article[data-report='\(try #require(report))']"
        let plain = "article[data-report='\(try #require(other))']"
        try await self.shows(mallory.id, browser, in: article)
        let text = try await browser.text(of: article)
        #expect(text.contains(note) && text.contains(alice.id) && text.contains("Evidence verified"))
        #expect(try await browser.text(of: plain).contains("No evidence"))
        #expect(try await browser.count("blockquote *") == 0)
        #expect(try await browser.value(of: "return document.title").string?.hasPrefix("Reports") == true)
        try await self.picture("reports", browser)

        // One click each.
        try await browser.click("\(plain) [value=dismiss]")
        try await self.shows("The report is dismissed.", browser)
        #expect(try await browser.count(plain) == 0)
        try await self.banForAWeek(article, browser)
        try await self.shows("Banned.", browser)
        #expect(try await mallory.client.end().code == 4003)
        #expect(try await browser.count(article) == 0)
        let begin = try await Cluster.client().ask("register_begin", mallory.person.begin(as: mallory.id))
        #expect(begin.errorCode == "USER_BANNED")
        try await browser.go(to: console + "/reports?status=banned")
        try await self.shows("Reviewed", browser, in: article)

        // The ban, and its end.
        try await browser.click("header nav a[href='/console/bans']")
        let row = "tr[data-ban='\(mallory.id)']"
        try await self.shows("in 6 days", browser, in: row)
        try await self.picture("bans", browser)
        try await browser.type("a mistake", into: "\(row) [name=reason]")
        try await browser.click("\(row) button")
        try await self.shows("The ban has ended.", browser)
        #expect(try await browser.count(row) == 0)
        _ = try await Cluster.phone(mallory.person)
        try await browser.type(bob.id, into: "#ban [name=whisperId]")
        try await browser.type("made by hand", into: "#ban [name=reason]")
        try await browser.click("#ban option[value=forever]")
        try await browser.click("#ban button")
        try await self.shows("never", browser, in: "tr[data-ban='\(bob.id)']")
        #expect(try await bob.client.end().code == 4003)

        // A message on its way, and there.
        let carol = try await Cluster.phone()
        try await carol.ask("update_tokens", ["pushToken": newUUID()]).expecting("tokens_updated")
        carol.client.cut()
        let message = try await alice.text(carol)
        try await browser.go(to: console + "/messages")
        try await browser.type("  \(message) ", into: "#id")
        try await browser.click("#find")
        try await self.shows("pending", browser, in: "#status")
        try await waitUntil("the push is shown", within: .seconds(30), every: .milliseconds(250)) {
            try await browser.reload()
            return try await browser.text().contains("Last wake-up")
        }
        let back = try await Cluster.phone(carol.person)
        _ = try await back.fetch()
        back.acknowledge(message, from: alice.id)
        _ = try await alice.client.next("message_delivered")
        try await browser.reload()
        try await self.shows("delivered", browser, in: "#status")
        #expect(try await browser.text(of: ".steps").contains("Delivered"))
        try await self.picture("message", browser)
        try await browser.type("nonsense", into: "#id")
        try await browser.click("#find")
        try await self.shows("not a value that it may have", browser)

        // All of it is on record.
        try await browser.click("header nav a[href='/console/audit']")
        try await browser.type(mallory.id, into: "[name=target]")
        try await browser.click("#filter")
        try await self.shows("unban", browser, in: "#events")
        let record = try await browser.text(of: "#events")
        #expect(record.contains("a mistake") && record.contains("sessionsEnded") && record.contains("loginRefused"))
        try await browser.go(to: console + "/audit")
        try await self.shows("consoleLogin", browser, in: "#events")
        let all = try await browser.text(of: "#events")
        #expect(all.contains("NOT_REGISTERED") && all.contains("dismiss") && all.contains("reviewReport"))
        #expect(!all.contains("getOverview"))
        try await self.picture("audit", browser)
        try await browser.go(to: console)
        try await self.picture("overview", browser)

        // On a phone, and in the dark, nothing is cut off.
        try await browser.resize(width: 390, height: 844)
        for (name, path) in zip(
            ["overview", "reports", "bans", "messages", "wake-ups", "audit"],
            ["", "/reports?status=all", "/bans", "/messages?id=\(message)", "/wake-ups", "/audit?all=1"])
        {
            try await browser.go(to: console + path)
            #expect(try await PageCluster.overhang(browser) == 0, "\(path)")
            try await self.picture("phone-\(name)", browser)
        }
        try await browser.resize(width: 1_280, height: 900)
        try await browser.prefer(dark: true)
        let dark = try await browser.value(of: "return getComputedStyle(document.body).backgroundColor")
        try await browser.prefer(dark: false)
        #expect(try await browser.value(of: "return getComputedStyle(document.body).backgroundColor") != dark)
        // Nothing broke the rules that the pages came with.
        #expect(try await browser.complaints() == [])

        // Gone is gone, also for whoever kept the cookie.
        try await browser.go(to: console)
        try await browser.click("#logout")
        try await self.shows("Admin or viewer token", browser)
        try await browser.go(to: console + "/audit")
        #expect(try await browser.address == console + "/login")
        let kept = try await HTTPCall("GET", console, headers: ["Cookie": "whisper_console=\(value)"]).answer()
        #expect(kept.status == 303 && kept.headers["location"] == "/console/login")

        // Viewers look.
        try await self.signIn(browser, stack.configuration.viewerToken)
        try await self.shows("Overview", browser, in: "h1")
        for path in Self.pages {
            try await browser.go(to: stack.opsURL + path)
            #expect(try await browser.count("form[method=post]") == 1, "\(path)")
        }
        let viewer = try #require(try await browser.cookie("whisper_console")["value"]?.string)
        let form = try #require(
            try await browser.value(of: "return document.querySelector('[name=form]').value").string)
        let body =
            "whisperId=\(alice.id)&reason=x&form=\(form.addingPercentEncoding(withAllowedCharacters: .alphanumerics)!)"
        let refused = try await HTTPCall(
            "POST", console + "/ban", headers: ["Cookie": "whisper_console=\(viewer)"], body: Array(body.utf8)
        ).answer()
        #expect(
            refused.status == 403 && String(decoding: refused.body, as: UTF8.self).contains("viewers may only read"))
        try await alice.ask("update_tokens").expecting("tokens_updated")
    }

    // MARK: -

    private func signIn(_ browser: Browser, _ token: String) async throws {
        try await browser.type(token, into: "#token")
        try await browser.click("#login")
    }

    /// Returns when the page says so.
    private func shows(_ text: String, _ browser: Browser, in selector: String = "main") async throws {
        try await waitUntil("\(selector) shows \(text)", within: .seconds(20), every: .milliseconds(50)) {
            // Between two pages there is no such element.
            (try? await browser.text(of: selector))?.contains(text) == true
        }
    }

    /// Presses Tab until this element has the focus, and sees that it does.
    private func tab(to selector: String, _ browser: Browser) async throws {
        let focus = "document.activeElement"
        for _ in 0..<60 {
            try await browser.press("\u{E004}")
            guard try await browser.value(of: "return \(focus).matches(`\(selector)`)") == .bool(true) else { continue }
            #expect(
                try await browser.value(of: "return getComputedStyle(\(focus)).outlineStyle") == .string("solid"),
                "\(selector)")
            return
        }
        Issue.record("\(selector) is not reached by Tab")
    }

    /// The ban is behind a question, and begins with a day.
    private func banForAWeek(_ article: String, _ browser: Browser) async throws {
        #expect(
            try await browser.value(of: "return document.querySelector(`\(article) select`).value") == .string("day"))
        try await browser.click("\(article) .ask summary")
        try await browser.click("\(article) option[value=week]")
        try await browser.click("\(article) [value=ban]")
    }

    /// Leaves pictures in both schemes, if somebody wants to look at them.
    private func picture(_ name: String, _ browser: Browser) async throws {
        guard Pictures.areWanted else { return }
        for (scheme, isDark) in [("light", false), ("dark", true)] {
            try await browser.prefer(dark: isDark)
            try Pictures.leave(try await browser.picture(), as: "\(name)-\(scheme).png")
        }
        try await browser.prefer(dark: false)
    }
}
