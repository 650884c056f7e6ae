import AuthTestKit
import Contract
import LocalStack
import PushPeers
import Telemetry
import TestKit
import Testing

@testable import OperatorsCore

/// The console's first page says which alerts fire, and when the certificate ends.
@Suite(.timeLimit(.minutes(20))) struct SurroundingsTests {
    @Test(.enabled(if: PrometheusServer.isInstalled, "needs Debian's package prometheus"))
    func alertsAreThoseThatPrometheusHas() async throws {
        let folder = try TemporaryFolder(named: "prometheus")
        let prometheus = PrometheusServer(
            folder: folder.path,
            rules: """
                groups: [{ name: test, rules: [
                  { alert: Always, expr: vector(1), labels: { severity: page } },
                  { alert: Never, expr: vector(1) > 2, labels: { severity: page } },
                  { alert: Also, expr: vector(1), labels: { severity: ticket, quoted: 'a "b' } }]}]
                """)
        let surroundings = Surroundings(
            prometheus: .init(host: "127.0.0.1", port: prometheus.port), certificate: nil, logger: quiet)
        #expect(surroundings.found.alerts == .unknown)
        await surroundings.look()
        #expect(surroundings.found.alerts == .unreachable)
        try await prometheus.start()
        try await waitUntil("both fire", within: .seconds(30), every: .milliseconds(100)) {
            await surroundings.look()
            guard case .found(let alerts) = surroundings.found.alerts else { return false }
            return alerts == [.init(name: "Always", severity: "page"), .init(name: "Also", severity: "ticket")]
        }
        #expect(surroundings.found.certificateEnd == .unknown)
        await prometheus.stop()
    }

    @Test func theCertificateIsTheOneThatIsShown() async throws {
        let folder = try TemporaryFolder(named: "certificate")
        let identity = try PeerIdentity(folder: folder.path)
        let peer = try await HTTP2Peer.start(identity, streamsMax: 1)
        let surroundings = Surroundings(
            prometheus: nil, certificate: .init(host: "127.0.0.1", port: peer.port), logger: quiet)
        await surroundings.look()
        // It was made for two days.
        guard case .found(let end) = surroundings.found.certificateEnd else {
            Issue.record("\(surroundings.found)")
            return
        }
        let left = end.milliseconds - Timestamp.now.milliseconds
        #expect((47 * 3_600_000...48 * 3_600_000).contains(left))
        await peer.stop()
        await surroundings.look()
        #expect(surroundings.found.certificateEnd == .unreachable)
    }

    @Test func thePageSaysBoth() {
        let now = Timestamp(milliseconds: 1_000_000_000)
        func page(_ change: (inout Surroundings.Findings) -> Void) -> String {
            var health = OperatorService.Health(processes: [], gateways: [], pace: nil, backup: nil)
            change(&health.surroundings)
            return ConsolePage.flow(health, at: now).text
        }
        #expect(page { _ in }.contains("not watched"))
        let soon = page {
            $0.certificateEnd = .found(now + .seconds(3 * 86_400))
            $0.alerts = .found([.init(name: "<b>Always", severity: "page")])
        }
        #expect(soon.contains("tag bad\" id=\"certificate\">ends in 3 days"))
        #expect(soon.contains("1 firing") && soon.contains("&lt;b&gt;Always") && !soon.contains("<b>Always"))
        let calm = page {
            $0.certificateEnd = .found(now + .seconds(60 * 86_400))
            $0.alerts = .found([])
        }
        #expect(calm.contains("tag good\" id=\"certificate\"") && calm.contains("none fires"))
    }
}
