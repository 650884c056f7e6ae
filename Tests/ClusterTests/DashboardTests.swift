import Foundation
import LocalStack
import TestKit
import Testing

/// Each query of a dashboard, an alert rule or the chart runs on a real Prometheus that watches a cluster in which
/// everything has happened.
@Suite(.cluster(.busy, watched), .serialized) struct DashboardCluster {
    @Test(.enabled(if: Watching.isExpected, "needs Debian's package prometheus"))
    func everyPanelShowsSomethingAndEveryRuleAsksForWhatIsThere() async throws {
        try #require(PrometheusServer.isInstalled, "prometheus is not installed: deploy/install-dependencies.sh")
        let dashboards = try Dashboard.all()
        try #require(dashboards.count == Cluster.stack.ports.services.count + 1)
        let prometheus = PrometheusServer(folder: Cluster.stack.folder + "/prometheus", scraping: Cluster.stack)
        try await prometheus.start()
        do {
            try await withThrowingTaskGroup { group in
                group.addTask { try await Life.goesOn() }
                try await self.check(dashboards, prometheus)
                try await self.checkRules(prometheus)
                try await self.checkScaling(prometheus)
                group.cancelAll()
            }
        } catch {
            await prometheus.stop()
            throw error
        }
        await prometheus.stop()
    }

    /// The figures behind the alert rules move when what they are about happens.
    @Test func whatWaitsAndWhatWasLostIsCounted() async throws {
        let stack = Cluster.stack
        let routers = [1, 2].map { stack.ports[.router, $0]!.ops }
        let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        let refused = await Self.sum(
            #"whisper_http_requests_total{service="auth",status="4xx"}"#, [stack.ports[.auth, 1]!.ops])
        #expect(try await alice.http("GET", "/users/WSP-AAAA-AAAA-AAAA/keys").status == 404)
        #expect(
            await Self.sum(#"whisper_http_requests_total{service="auth",status="4xx"}"#, [stack.ports[.auth, 1]!.ops])
                > refused)

        let connected = await Self.sum("whisper_store_reconnects_total", routers)
        let jobs = await Self.sum("whisper_partition_jobs_total", routers)
        await stack.kill(.postgres)
        // The message's outcome is another test's question.
        alice.client.send("send_message", alice.privileges.with(alice.message(to: bob.id)))
        for name in ["whisper_partition_depth", "whisper_bus_depth"] {
            try await waitUntil("a Job is seen waiting in \(name)", within: .seconds(30), every: .milliseconds(200)) {
                await Self.sum(name, routers) > 0
            }
        }
        try await stack.start(.postgres)
        try await waitUntil("it waits no longer", within: .seconds(60), every: .milliseconds(200)) {
            await Self.sum("whisper_partition_depth", routers) == 0
        }
        #expect(await Self.sum("whisper_partition_jobs_total", routers) > jobs)
        try await waitUntil(
            "connections are seen to have been made again", within: .seconds(30), every: .milliseconds(200)
        ) {
            await Self.sum("whisper_store_reconnects_total", routers) > connected
        }
        try await Cluster.calm()
    }

    /// Sum of all series whose text begins with `series`.
    private static func sum(_ series: String, _ ports: [Int]) async -> Double {
        var sum = 0.0
        for port in ports {
            for line in (await LoopbackRequest.get("/metrics", port: port)?.body ?? "").split(separator: "\n")
            where line.hasPrefix(series) { sum += line.split(separator: " ").last.flatMap { Double($0) } ?? 0 }
        }
        return sum
    }

    private func check(_ dashboards: [Dashboard], _ prometheus: PrometheusServer) async throws {
        var empty: Set<String> = []
        var asked = 0
        for dashboard in dashboards {
            for panel in dashboard.panels {
                for target in panel.targets {
                    asked += 1
                    let expression = target.expr.replacing("$__rate_interval", with: Watching.window)
                    let place = "\(dashboard.title), \(panel.title): \(target.expr)"
                    if Watching.quiet[target.expr] != nil {
                        // Asked all the same: it has to be a query.
                        _ = try await prometheus.answer(to: expression)
                        empty.insert(target.expr)
                        continue
                    }
                    await #expect(throws: Never.self, "\(place) shows nothing") {
                        try await waitUntil(
                            "\(place) shows something", within: Watching.timeout, every: .milliseconds(500)
                        ) {
                            try await !prometheus.answer(to: expression).isEmpty
                        }
                    }
                }
            }
        }
        #expect(asked > 150)
        #expect(empty == Set(Watching.quiet.keys), "the list of what is quiet names what no dashboard asks")
    }

    /// Alert rules are silent here, so their answers say nothing; what they ask for has to exist.
    private func checkRules(_ prometheus: PrometheusServer) async throws {
        let names = try await prometheus.metricNames()
        let rules = try String(
            contentsOf: Dashboard.folder.appending(path: "../../prometheus/alerts.yml"), encoding: .utf8)
        let wanted = Set(rules.matches(of: #/\b(?:whisper|process|haproxy)_[a-z0-9_]+/#).map { String($0.0) })
        try #require(wanted.count > 15)
        // Backups are no process of these clusters: what they write is their own tests' question.
        for name in wanted.sorted() where !name.hasPrefix("whisper_backup_") {
            #expect(names.contains(name), "no process has \(name), which a rule asks for")
        }
    }

    /// Queries of the chart's autoscalers. Each names a namespace, which this Prometheus does not know.
    private func checkScaling(_ prometheus: PrometheusServer) async throws {
        struct Trigger: Decodable { var query: String }
        let file = Dashboard.folder.appending(path: "../../chart/files/scaling.json")
        let triggers = try JSONDecoder().decode([String: [Trigger]].self, from: Data(contentsOf: file))
        try #require(triggers.count == 5)
        for query in triggers.values.joined().map(\.query) {
            let expression = query.replacing(",namespace=\"$NAMESPACE\"", with: "")
            try #require(expression != query, "\(query) asks for all namespaces")
            await #expect(throws: Never.self, "\(query) has no answer") {
                try await waitUntil("\(query) is answered", within: Watching.timeout, every: .milliseconds(500)) {
                    try await !prometheus.answer(to: expression).isEmpty
                }
            }
        }
    }
}

/// Instances of all services, and a collector that runs often.
private let watched: @Sendable (inout StackConfiguration) -> Void = {
    $0.environment[.attachments] = ["GC_EVERY_SECONDS": "2"]
    $0.environment[.auth, default: [:]]["INACTIVE_DAYS"] = "90"
    PushWorld.configure(&$0)
}

private enum Watching {
    static let isExpected = PrometheusServer.isInstalled || ProcessInfo.processInfo.environment["CI"] != nil
    /// Over what rates are taken. The cluster is asked once a second.
    static let window = "20s"
    /// How long a query may show nothing. Counts of mail are made every 30 s.
    static let timeout = Duration.seconds(60)

    /// Queries that have nothing to show in a healthy cluster of these tests, and why.
    static let quiet: [String: String] = {
        var quiet: [String: String] = [:]
        for quantile in ["0.5", "0.99"] {
            quiet[
                "histogram_quantile(\(quantile), sum by (le) (rate(whisper_object_store_seconds_bucket[$__rate_interval])))"
            ] =
                "files are kept on disk here, and only requests to S3 are timed"
        }
        return quiet
    }()
}

/// People who write, call, send files, come and go, until the test has seen enough.
private enum Life {
    static func goesOn() async throws {
        try await withThrowingTaskGroup { group in
            group.addTask {
                let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
                while !Task.isCancelled { try await Self.talk(alice, bob) }
            }
            group.addTask {
                let (carol, sleeper) = (
                    try await Cluster.phone(gateway: 1), try await Cluster.phone(Person(platform: "ios"), gateway: 2)
                )
                try await sleeper.ask("update_tokens", ["pushToken": Self.token]).expecting("tokens_updated")
                sleeper.client.cut()
                while !Task.isCancelled { try await Self.wake(sleeper, carol) }
            }
            group.addTask { try await Self.whisper() }
            group.addTask { try await Self.meet() }
            try await group.waitForAll()
        }
    }

    /// A live conversation whose lines are kept, read by a guest at the other gateway.
    private static func whisper() async throws {
        let (phone, profile) = (try await Cluster.phone(gateway: 1), newUUID())
        _ = try await phone.http(
            "PUT", "/profiles/\(profile)", Person.versions.with(["joinHash": Keys.random(32).base64]))
        let live = Conversation(profile: profile, transcriptDays: 1)
        try await phone.ask("live_create", live.create(by: phone.id)).expecting("live_conversation")
        try await phone.ask("live_start", live.named.with(["contentId": newUUID()])).expecting("live_started")
        let keys = Keys()
        let guest = try await GuestClient.proved(keys, gateway: 2)
        try await guest.client.ask("live_knock", live.knock(by: guest, keys)).expecting("live_waiting")
        try await phone.ask("live_grant", live.grant([guest.id], by: phone.id)).expecting("live_granted")
        try await guest.client.ask("live_join", guest.fields(live.named)).expecting("live_joined")
        var whisperer = Whisperer(phone: phone, conversation: live)
        while !Task.isCancelled {
            for kind in ["snapshot", "diff", "line"] {
                whisperer.say(kind)
                _ = try await guest.client.next("live_packet")
            }
            _ = try await phone.client.next("live_line_stored")
        }
    }

    /// Two in a room, who signal.
    private static func meet() async throws {
        let room = Room()
        let (one, two) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        try await one.ask("room_create", room.create(one.person.keys)).expecting("room_joined")
        try await two.ask("room_join", room.join(two.person.keys, proof: room.proof)).expecting("room_joined")
        while !Task.isCancelled {
            let signal = room.signal("candidate", from: one.id, to: two.id, by: one.person.keys)
            one.client.send("room_signal", one.privileges.with(signal))
            _ = try await two.client.next("room_signal")
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private static let token = String(repeating: "ab", count: 32)

    /// Mail until a push comes, because a router may learn late that somebody has gone; then the sleeper comes, is seen, and goes.
    private static func wake(_ sleeper: Phone, _ carol: Phone) async throws {
        let (pushes, woken) = (
            try await PushWorld.requests(for: self.token).count, await PushWorld.metric("whisper_push_woke_total")
        )
        try await waitUntil("a push", within: .seconds(60), every: .milliseconds(500)) {
            try await carol.text(sleeper)
            return try await PushWorld.requests(for: self.token).count > pushes
        }
        let back = try await Cluster.reconnected(sleeper)
        for message in try await back.pending() { back.acknowledge(message.id, from: carol.id) }
        try await waitUntil("it is seen to have come", within: .seconds(60), every: .milliseconds(200)) {
            await PushWorld.metric("whisper_push_woke_total") > woken
        }
        back.client.cut()
    }

    private static func talk(_ alice: Phone, _ bob: Phone) async throws {
        let message = try await alice.text(bob)
        _ = try await bob.received(message)
        bob.acknowledge(message, from: alice.id)
        let callID = try await alice.talks(to: bob)
        alice.send("call_end", callID, to: bob, ["reason": "ended"])
        _ = try await bob.gets("call_end", callID)

        let key = try await alice.upload(Keys.random(2_000))
        _ = try await alice.download(key)
        _ = try await alice.http("GET", "/users/\(bob.id)/keys")
        _ = try await alice.http("GET", "/calls/ringing")
        let stranger = try await Cluster.phone()
        stranger.client.cut()
        try await Task.sleep(for: .milliseconds(200))
    }
}

/// As much of Grafana's format as the tests need.
private struct Dashboard: Decodable {
    struct Panel: Decodable {
        struct Target: Decodable {
            var expr: String
        }

        var title: String
        var targets: [Target]
    }

    var title: String
    var panels: [Panel]

    static let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "deploy/grafana/dashboards")

    static func all() throws -> [Dashboard] {
        try FileManager.default.contentsOfDirectory(at: Self.folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "json" }.sorted { $0.path < $1.path }
            .map { try JSONDecoder().decode(Dashboard.self, from: Data(contentsOf: $0)) }
    }
}

extension PrometheusServer {
    /// The numbers that an expression has now; those that are none (0/0) left out.
    fileprivate nonisolated func answer(to expression: String) async throws -> [String] {
        guard let text = await self.ask("/api/v1/query", ["query": expression]) else { return [] }
        let answer = try JSON(parsing: Array(text.utf8))
        guard answer["status"]?.string == "success" else {
            throw NoQuery(text: expression, reason: answer["error"]?.string)
        }
        return (answer["data"]?["result"]?.elements ?? []).compactMap { $0["value"]?[1]?.string }.filter { $0 != "NaN" }
    }

    fileprivate struct NoQuery: Error {
        var text: String
        var reason: String?
    }

    fileprivate nonisolated func metricNames() async throws -> Set<String> {
        let text = await self.ask("/api/v1/label/__name__/values") ?? ""
        return Set(try JSON(parsing: Array(text.utf8))["data"]?.elements.compactMap(\.string) ?? [])
    }
}
