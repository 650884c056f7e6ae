import Contract
import Foundation
import LocalStack
import TestKit
import Testing

/// What operators look at: each query of each dashboard and each alert rule is asked of a real Prometheus that watches a cluster in
/// which everything has happened.
@Suite(.cluster(watched), .enabled(if: Watching.isExpected, "needs Debian's package prometheus")) struct DashboardCluster {
    @Test func everyPanelShowsSomethingAndEveryRuleAsksForWhatIsThere() async throws {
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
                group.cancelAll()
            }
        } catch {
            await prometheus.stop()
            throw error
        }
        await prometheus.stop()
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
                        #expect(try await prometheus.answer(to: expression) != nil, "\(place)")
                        empty.insert(target.expr)
                        continue
                    }
                    await #expect(throws: Never.self, "\(place) shows nothing") {
                        try await waitUntil("\(place) shows something", within: Watching.patience, every: .milliseconds(500)) {
                            try await prometheus.answer(to: expression)?.isEmpty == false
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
        let rules = try String(contentsOf: Dashboard.folder.appending(path: "../../prometheus/alerts.yml"), encoding: .utf8)
        let wanted = Set(rules.matches(of: #/\b(?:whisper|process|haproxy)_[a-z0-9_]+/#).map { String($0.0) })
        try #require(wanted.count > 15)
        for name in wanted.sorted() { #expect(names.contains(name), "no process has \(name), which a rule asks for") }
    }
}

/// Instances of everything, little patience, and a collector that comes often.
private let watched: @Sendable (inout StackConfiguration) -> Void = {
    $0.environment[.attachments] = ["GC_EVERY_SECONDS": "2"]
    PushWorld.configure(&$0)
}

private enum Watching {
    static let isExpected = PrometheusServer.isInstalled || ProcessInfo.processInfo.environment["CI"] != nil
    /// Over what rates are taken. The cluster is asked once a second.
    static let window = "20s"
    /// How long a query may show nothing. Counts of mail are made every 30 s.
    static let patience = Duration.seconds(60)

    /// Queries that have nothing to show in a healthy cluster of these tests, and why.
    static let quiet: [String: String] = {
        var quiet: [String: String] = [:]
        for quantile in ["0.5", "0.99"] {
            quiet["histogram_quantile(\(quantile), sum by (le) (rate(whisper_object_store_seconds_bucket[$__rate_interval])))"] =
                "files are kept on disk here, and only requests to S3 are timed"
        }
        return quiet
    }()
}

/// People who write, call, send files, come and go, until the test has seen enough.
private enum Life {
    static func goesOn() async throws {
        let (alice, bob) = (try await Cluster.phone(gateway: 1), try await Cluster.phone(gateway: 2))
        let sleeper = try await Self.sleeper()
        while !Task.isCancelled {
            try await Self.someLife(alice, bob, sleeper)
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    private static func someLife(_ alice: Phone, _ bob: Phone, _ sleeper: Phone) async throws {
        let message = try await alice.text(bob)
        _ = try await bob.received(message)
        bob.acknowledge(message, from: alice.id)
        try await alice.text(sleeper)
        let back = try await Cluster.reconnected(sleeper)
        for message in try await back.pending() { back.acknowledge(message.id, from: message["from"]?.string ?? "") }
        try await back.client.settle()
        back.client.cut()

        let callID = try await alice.talks(to: bob)
        alice.send("call_end", callID, to: bob, ["reason": "ended"])
        _ = try await bob.gets("call_end", callID)

        let key = try await alice.upload(Keys.random(2_000))
        _ = try await alice.download(key)
        _ = try await alice.http("GET", "/users/\(bob.id)/keys")
        _ = try await alice.http("GET", "/calls/ringing")
        _ = try await Cluster.phone()
    }

    /// Somebody with a push token who has gone away.
    private static func sleeper() async throws -> Phone {
        let phone = try await Cluster.phone(Person(platform: "ios"))
        let token = String(repeating: "ab", count: 32)
        try await phone.ask("update_tokens", ["pushToken": token]).expecting("tokens_updated")
        phone.client.cut()
        return phone
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
    /// The numbers that an expression has now; those that are none (0/0) left out. Nil: it is no query.
    fileprivate nonisolated func answer(to expression: String) async throws -> [String]? {
        guard let text = await self.ask("/api/v1/query", ["query": expression]) else { return [] }
        let answer = try JSON(parsing: Array(text.utf8))
        guard answer["status"]?.string == "success" else {
            Issue.record("\(expression): \(answer["error"]?.string ?? text)")
            return nil
        }
        return answer["data"]?["result"]?.elements.compactMap { $0["value"]?[1]?.string }.filter { $0 != "NaN" }
    }

    fileprivate nonisolated func metricNames() async throws -> Set<String> {
        let text = await self.ask("/api/v1/label/__name__/values") ?? ""
        return Set(try JSON(parsing: Array(text.utf8))["data"]?.elements.compactMap(\.string) ?? [])
    }
}
