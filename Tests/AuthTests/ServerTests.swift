import AuthCore
import AuthTestKit
import ClusterContract
import Contract
import Store
import TestKit
import Testing

/// Facts that a server tells anybody (contract §20.6).
@Suite(.serialized, .timeLimit(.minutes(20))) struct ServerTests {
    private func http(_ bench: AuthBench, _ configuration: AuthConfiguration = AuthConfiguration()) -> HTTPBench {
        HTTPBench(routes: { router in
            ServerRoutes(
                pool: bench.pool, bus: bench.bus, rates: RateTable(),
                trustedProxies: [NetworkAddress(HTTPBench.balancer)!], configuration: configuration,
                clock: bench.clock, logger: quiet
            ).add(to: router)
        })
    }

    @Test func whoeverAsksIsToldWhatTheOperatorsHaveChosen() async throws {
        try await AuthBench.run { bench in
            var configuration = AuthConfiguration()
            configuration.registration = .closed
            configuration.server.name = "Choir"
            configuration.server.inactiveDays = 400
            configuration.server.keepsInviters = true
            configuration.server.contact = "mailto:ann@example.org"
            let http = self.http(bench, configuration)
            let answer = try await http.send(.get, "/server", authorization: nil)
            #expect(answer.status == 200 && answer.headers[.cacheControl] == "max-age=60")
            #expect(
                answer.text
                    == #"{"name":"Choir","registration":"closed","guests":true,"features":["invitations","live","profiles","rooms","transcripts"],"retention":{"pendingHours":72,"ledgerDays":14,"backupDays":30,"inactiveDays":400},"invitationsKept":true,"operator":"mailto:ann@example.org"}"#
            )
            try await bench.doors { doors, now, transaction throws(StoreError) in
                try await doors.choose(.invited, at: now, in: transaction)
            }
            bench.wait(.seconds(2))
            #expect(
                try await http.send(.get, "/server", authorization: nil).json["registration"] as? String == "invited")
        }
    }

    @Test func aServerWithoutGuestsSaysSo() async throws {
        try await AuthBench.run { bench in
            let guests = GuestProving(
                GuestTable(bench.pool), areTaken: false, operators: bench.operators, bus: bench.bus,
                clock: bench.clock, logger: quiet)
            let keys = TestIdentity(1)
            let answer = try await guests.begin(
                GuestBegin(signPublicKey: keys.signPublicKey, encPublicKey: keys.encPublicKey), node: bench.near,
                connection: ConnectionID(value: 1))
            #expect(answer.refusal == .forbidden && answer.reason == .registrationClosed)
        }
    }

    @Test func anAddressThatAsksTooOftenIsToldWhenToComeBack() async throws {
        try await AuthBench.run { bench in
            let http = self.http(bench)
            var answer = try await http.send(.get, "/server", authorization: nil)
            for _ in 0..<Rates.server.burst * 2 where answer.status == 200 {
                answer = try await http.send(.get, "/server", authorization: nil)
            }
            #expect(answer.is(429, .rateLimited))
        }
    }
}
