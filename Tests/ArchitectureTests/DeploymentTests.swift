import Dispatch
import Foundation
import LocalStack
import Testing

/// Files in deploy/, checked without running them. Tools that are missing are demanded only where `CI` is set.
@MainActor @Suite struct DeploymentTests {
    nonisolated private static let isCI = ProcessInfo.processInfo.environment["CI"] != nil
    private static let rules = SourceTree.root.appending(path: "deploy/prometheus")
    private static let grafana = SourceTree.root.appending(path: "deploy/grafana")
    private static let units = SourceTree.root.appending(path: "deploy/systemd")

    nonisolated private static func has(_ program: String) -> Bool {
        Self.isCI || FileManager.default.isExecutableFile(atPath: program)
    }

    // MARK: Alert rules

    /// Tests that play hours, and those that play days: the latter evaluate the rules less often.
    private static let alertTests = ["alerts.test.yml", "alerts-days.test.yml"]

    @Test(.enabled(if: has("/usr/bin/promtool"), "needs Debian's package prometheus"))
    func alertRulesPassTheirTests() async throws {
        let tests = Self.alertTests.map { Self.rules.appending(path: $0).path }
        // It takes some seconds. Meanwhile no thread of the tests is held.
        let result: Run = try await withCheckedThrowingContinuation { continuation in
            DispatchQueue(label: "promtool").async {
                continuation.resume(with: Result { try Run("/usr/bin/promtool", "test", "rules", tests[0], tests[1]) })
            }
        }
        #expect(result.status == 0, "\(result.output)")
    }

    @Test func everyAlertIsSeenFiringAndSilent() throws {
        let alerts = try Self.text("alerts.yml", in: Self.rules).matches(of: #/- alert: (\w+)/#).map { String($0.1) }
        try #require(alerts.count > 15 && Set(alerts).count == alerts.count)
        let tests = try Self.alertTests.map { try Self.text($0, in: Self.rules) }.joined()
        for alert in alerts {
            #expect(tests.contains("alertname: \(alert)\n        exp_alerts: [{"), "no test sees \(alert) fire")
            #expect(
                tests.contains("eval_time: 8m, alertname: \(alert) }"), "the healthy cluster is not asked for \(alert)")
        }
    }

    // MARK: Dashboards

    private struct Dashboard: Decodable {
        struct Panel: Decodable {
            struct Place: Decodable { var x, y, w, h: Int }
            struct Source: Decodable { var uid: String }
            struct Field: Decodable {
                struct Defaults: Decodable { var unit: String }
                var defaults: Defaults
            }
            struct Target: Decodable { var refId, expr, legendFormat: String, datasource: Source }

            var id: Int
            var title, description: String
            var datasource: Source
            var gridPos: Place
            var fieldConfig: Field
            var targets: [Target]
        }

        var uid, title: String
        var panels: [Panel]
    }

    private static func dashboards() throws -> [(file: String, dashboard: Dashboard)] {
        let folder = Self.grafana.appending(path: "dashboards")
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".json") }
            .sorted().map {
                ($0, try JSONDecoder().decode(Dashboard.self, from: Data(contentsOf: folder.appending(path: $0))))
            }
    }

    @Test func everyServiceHasADashboardAndTheClusterOne() throws {
        let files = try Self.dashboards().map(\.file)
        let services = try FileManager.default.contentsOfDirectory(
            atPath: SourceTree.root.appending(path: "Services").path)
        #expect(Set(files) == Set((services + ["overview"]).map { "\($0).json" }))
    }

    @Test func dashboardsAreWhatTheirScriptWrites() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "dashboards-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let result = try Run("/usr/bin/python3", Self.grafana.appending(path: "make-dashboards").path, folder.path)
        try #require(result.status == 0, "\(result.output)")
        for (file, _) in try Self.dashboards() {
            let written = try? Data(contentsOf: folder.appending(path: file))
            let kept = try Data(contentsOf: Self.grafana.appending(path: "dashboards/\(file)"))
            #expect(written == kept, "\(file): run deploy/grafana/make-dashboards")
        }
    }

    @Test func dashboardsAreSound() throws {
        // Grafana's names of units.
        let units: Set = ["short", "s", "bytes", "Bps", "ops", "reqps", "cps", "percentunit"]
        let source = try Self.text("datasources/prometheus.yml", in: Self.grafana).firstMatch(of: #/uid: (\w+)/#).map {
            String($0.1)
        }
        let dashboards = try Self.dashboards()
        #expect(Set(dashboards.map(\.dashboard.uid)).count == dashboards.count)
        for (file, dashboard) in dashboards {
            #expect(Set(dashboard.panels.map(\.id)).count == dashboard.panels.count, "\(file)")
            var taken: Set<[Int]> = []
            for panel in dashboard.panels {
                let place = "\(file), \(panel.title)"
                #expect(units.contains(panel.fieldConfig.defaults.unit), "\(place)")
                #expect(!panel.description.isEmpty && !panel.targets.isEmpty, "\(place)")
                #expect(panel.datasource.uid == source, "\(place)")
                #expect(
                    panel.targets.allSatisfy { $0.datasource.uid == source && !$0.legendFormat.isEmpty }, "\(place)")
                #expect(Set(panel.targets.map(\.refId)).count == panel.targets.count, "\(place)")
                let grid = panel.gridPos
                #expect(grid.x >= 0 && grid.w > 0 && grid.x + grid.w <= 24, "\(place) stands outside of the grid")
                for x in grid.x..<grid.x + grid.w {
                    for y in grid.y..<grid.y + grid.h {
                        #expect(taken.insert([x, y]).inserted, "\(place) stands on another panel")
                    }
                }
            }
        }
    }

    // MARK: Kubernetes

    nonisolated private static let chartPython = SourceTree.root.appending(path: ".build/chart-tools/bin/python").path

    /// Every size is rendered, validated strictly and compared with `compose.yaml`.
    @Test(.enabled(if: has(chartPython) && has("/usr/bin/promtool"), "needs deploy/install-python-tools.sh"))
    func chartSaysWhatComposeSays() throws {
        let script = SourceTree.root.appending(path: "Tests/ArchitectureTests/Chart/check_chart.py")
        let result = try Run(Self.chartPython, "-B", script.path)
        #expect(result.status == 0, "\(result.output)")
    }

    // MARK: Balancer

    /// Settings that deploy/haproxy/start makes of the bounds of a container. HAProxy is a stand-in that prints what it
    /// was given.
    @Test(arguments: [
        // Files, memory, CPU time, THREADS; then threads and connections of clients. Nil: its exit status says no.
        Bounds(memory: "268435456", cpu: "50000 100000", is: "1 3596"),
        Bounds(files: 5_000, memory: "max", cpu: "100000 100000", is: "1 1500"),
        Bounds(files: 5_000, memory: "9223372036854771712", cpu: "max 100000", threads: "7", is: "7 1500"),
        Bounds(files: 5_000, memory: "2147483648", threads: "64", is: "64 1500"),
        Bounds(files: 4_095, memory: "max", is: nil),
        Bounds(memory: "134217727", is: nil),
    ])
    func balancerTakesWhatItsContainerHas(bounds: Bounds) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "balancer-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let program = folder.appending(path: "haproxy")
        try "#!/bin/sh\necho \"$THREADS $PUBLIC_CONNECTIONS_MAX\"\n".write(
            to: program, atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: program.path)
        try bounds.memory.write(to: folder.appending(path: "memory.max"), atomically: true, encoding: .utf8)
        try bounds.cpu.write(to: folder.appending(path: "cpu.max"), atomically: true, encoding: .utf8)
        let start = SourceTree.root.appending(path: "deploy/haproxy/start").path
        let files = bounds.files.map { "ulimit -n \($0); " } ?? ""
        let script =
            "\(files)PATH=\(folder.path):$PATH CGROUP=\(folder.path) THREADS=\(bounds.threads) exec /bin/sh \(start)"
        let result = try Run("/bin/sh", "-c", script)
        #expect((result.status == 0) == (bounds.result != nil), "\(result.output)")
        if let expected = bounds.result { #expect(result.output.hasSuffix("\n\(expected)\n"), "\(result.output)") }
    }

    struct Bounds: Sendable {
        var files: Int?
        var memory: String
        var cpu: String
        var threads: String
        var result: String?

        init(files: Int? = nil, memory: String, cpu: String = "max 100000", threads: String = "", is result: String?) {
            self.files = files
            self.memory = memory
            self.cpu = cpu
            self.threads = threads
            self.result = result
        }
    }

    // MARK: Images

    /// An image is built from the folders that `deploy/Containerfile` copies, and no others.
    @Test func theManifestOfAnImageNamesWhatIsThere() throws {
        struct Manifest: Decodable {
            struct Part: Decodable {
                var name: String
                var path: String?
                var dependencies: [Dependency]?
            }
            struct Dependency: Decodable { var byName: [String?]? }

            var targets, products: [Part]
        }

        let text = try Self.text("deploy/Containerfile", in: SourceTree.root)
        let copied = text.matches(of: #/\nCOPY (\S+) (\S+)/#).filter { $0.1 == $0.2 }.map { "\($0.1)/" }
        // The last pattern that fits decides.
        let patterns = try Self.text(".containerignore", in: SourceTree.root).split(separator: "\n").map(String.init)
        for folder in copied {
            let last = patterns.last { fnmatch("\($0.trimmingPrefix("!"))/*", folder, 0) == 0 }
            #expect(last?.hasPrefix("!") ?? true, ".containerignore leaves \(folder) out")
        }
        let build = try #require(text.firstMatch(of: #/ (WHISPER_BUILD=\w+) .*swift build/#)).1
        let scratch = FileManager.default.temporaryDirectory.appending(path: "manifest-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: scratch) }
        let result = try Run(
            "/usr/bin/env", String(build), "swift", "package", "--package-path", SourceTree.root.path, "--scratch-path",
            scratch, "dump-package")
        try #require(result.status == 0, "\(result.output)")
        let manifest = try JSONDecoder().decode(
            Manifest.self, from: Data(result.output.drop { $0 != "{" }.utf8))
        let names = Set(manifest.targets.map(\.name))
        for target in manifest.targets {
            let path = try #require(target.path)
            #expect(copied.contains { "\(path)/".hasPrefix($0) }, "\(path) is not in the image")
            let missing = (target.dependencies ?? []).compactMap { $0.byName?.first ?? nil }
                .filter { !names.contains($0) }
            #expect(missing.isEmpty, "\(target.name) needs \(missing)")
        }
        let products = Set(manifest.products.map(\.name))
        for service in ["gateway", "auth", "router", "push", "attachments", "calls"] {
            #expect(products.contains("whisper-\(service)"))
        }
    }

    // MARK: systemd

    @Test(.enabled(if: has("/usr/bin/systemd-analyze"), "needs Debian's package systemd"))
    func unitsAreUnderstood() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "units-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var files: [String] = []
        for name in try FileManager.default.contentsOfDirectory(atPath: Self.units.path) {
            // An instance of each template. Its program is not installed here; any program that runs will do.
            let text = try Self.text(name, in: Self.units).replacing(
                #/ExecStart=\/usr\/local\/lib\/whisper\/\S+/#, with: "ExecStart=/bin/true")
            let file = folder.appending(path: name.replacing("@.", with: "@1."))
            try text.write(to: file, atomically: true, encoding: .utf8)
            files.append(file.path)
        }
        try #require(files.count >= 8)
        let result = try Run("/usr/bin/systemd-analyze", ["verify", "--man=no"] + files.sorted())
        #expect(result.status == 0 && result.output.isEmpty, "\(result.output)")
    }

    /// Without systemd whisper-setup keeps 14 days of logs, a file for each. Programs have them open, and write on.
    @Test func logsWithoutSystemdGo() throws {
        let setup = try Self.text("deploy/debian/whisper-setup", in: SourceTree.root)
        #expect(setup.contains("\n        rotate || true\n"))
        let functions = #/\nrotate\(\) \{\n(?s:.*?)\n\}\nnote_day\(\) [^\n]+\n/#
        let rotate = try #require(setup.firstMatch(of: functions)?.output)
        let folder = FileManager.default.temporaryDirectory.appending(path: "logs-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let script = """
            set -euo pipefail
            cd '\(folder.path)'
            \(rotate.replacing("/var/log/whisper", with: folder.path))
            exec >>router.log
            touch -d '13 days ago' router.log.old && touch -d '12 days ago' router.log.kept
            echo 1 && rotate && echo 2 && echo 2026-01-01 >day && rotate && rotate && echo 3
            """
        let result = try Run("/bin/bash", "-c", script)
        #expect(result.status == 0, "\(result.output)")
        let kept = try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted()
        #expect(kept.count == 4 && kept.first == "day" && kept.last == "router.log.kept", "\(kept)")
        #expect(try kept.prefix(3).dropFirst().map { try Self.text($0, in: folder) } == ["3\n", "1\n2\n"])
    }

    /// A process manager ends a process only after the longest drain, and after cancelled parts have had their time.
    /// The chart's times are compared with those of compose.yaml.
    @Test func everyProcessHasTimeToDrain() throws {
        let cancellation = try Self.seconds(of: "cancellationMax", in: "Shared/ServiceRuntime/RuntimeLimits.swift")
        let usual = try Self.seconds(of: "drainMax", in: "Shared/ServiceRuntime/RuntimeLimits.swift") + cancellation
        let gateway =
            try Self.seconds(of: "drainMax", in: "Services/gateway/GatewayCore/GatewayConfiguration.swift")
            + cancellation
        for service in ["auth", "router", "push", "attachments", "calls", "gateway"] {
            let unit = try Self.text("whisper-\(service)@.service", in: Self.units)
            let stop = try #require(unit.firstMatch(of: #/TimeoutStopSec=(\d+)/#).flatMap { Int($0.1) })
            #expect(stop > (service == "gateway" ? gateway : usual), "\(service)")
        }
        let compose = try Self.text("compose.yaml", in: SourceTree.root)
        let ofAll = compose.firstMatch(of: #/x-service: &service\n(?:  .*\n)*?  stop_grace_period: (\d+)s/#)
        #expect(try #require(ofAll.flatMap { Int($0.1) }) > usual)
        let ofGateways = compose.firstMatch(of: #/\n  gateway:\n(?:    .*\n)*?    stop_grace_period: (\d+)s/#)
        #expect(try #require(ofGateways.flatMap { Int($0.1) }) > gateway)
    }

    private static func seconds(of bound: String, in file: String) throws -> Int {
        let text = try Self.text(file, in: SourceTree.root)
        return try #require(
            text.firstMatch(
                of: try Regex("let \(bound) = Duration.seconds\\((\\d+)\\)", as: (Substring, Substring).self)
            )
            .flatMap { Int($0.1) })
    }

    private static func text(_ file: String, in folder: URL) throws -> String {
        try String(contentsOf: folder.appending(path: file), encoding: .utf8)
    }
}
