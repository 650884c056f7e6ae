import AuthTestKit
import ClusterContract
import Contract
import Foundation
import OperatorsCore
import Testing

/// Times of records, as operators see it (contract §20.9).
@Suite(.serialized, .timeLimit(.minutes(20))) struct RetentionTests {
    private func http(_ bench: AuthBench) throws -> HTTPBench {
        try HTTPBench(
            service: OperatorService(
                pool: bench.pool, identities: bench.identities, banning: bench.bans, rateClassing: bench.rateClassing,
                keys: bench.bus, rates: RateTable(),
                kept: KeptRecords([(.audit, .seconds(30 * 86_400)), (.inactive, .seconds(90 * 86_400))]),
                clock: bench.clock,
                logger: quiet), bench)
    }

    @Test func operatorsSeeTheTimesInForce() async throws {
        try await AuthBench.run { bench in
            let answer = try await self.http(bench).get("/admin/retention", token: HTTPBench.viewerToken)
            #expect(answer.status == 200)
            let records = try #require(answer.json["records"] as? [[String: Any]])
            #expect(records.count == KeptRecord.all.count)
            let byName = Dictionary(uniqueKeysWithValues: records.map { ($0["name"] as? String ?? "", $0) })
            let audit = try #require(byName["audit"])
            #expect(audit["seconds"] as? Int == 2_592_000 && audit["usualSeconds"] as? Int == 34_560_000)
            #expect(
                audit["setting"] as? String == "AUDIT_DAYS" && audit["places"] as? [String] == ["auth.audit_events"])
            // No setting moves the ledger; the setting of files is another service's; nothing but a person ends an identity.
            #expect(byName["ledger"]?["seconds"] as? Int == 1_209_600)
            #expect(byName["files"]?["seconds"] == nil && byName["files"]?["usualSeconds"] as? Int == 2_592_000)
            #expect(byName["inactive"]?["seconds"] as? Int == 7_776_000)
            #expect(byName["inactive"]?["setting"] as? String == "INACTIVE_DAYS")
            #expect(byName["identities"]?["seconds"] == nil && byName["identities"]?["usualSeconds"] == nil)
            #expect(try await self.http(bench).get("/admin/retention", token: "x").is(401, .notRegistered))
        }
    }

    @Test func theConsoleHasAPageOfThem() async throws {
        try await AuthBench.run { bench in
            let viewer = try await ConsoleBrowser(try self.http(bench), token: HTTPBench.viewerToken)
            let page = try await viewer.get("/console/retention")
            #expect(page.status == 200 && page.text.contains("aria-current=\"page\">What is kept"))
            for record in KeptRecord.all { #expect(page.text.contains("data-record=\"\(record.name)\"")) }
            #expect(page.text.contains("30 days") && page.text.contains("30 days unless set otherwise"))
        }
    }

    @Test func auditEventsGoWhenTheirTimeIsOver() async throws {
        try await AuthBench.run { bench in
            try await bench.sql(
                """
                INSERT INTO auth.audit_events (at, actor, action, result)
                SELECT now() - days * interval '1 day', 'operator', 'ban', 'ok'
                FROM unnest(ARRAY[500, 402, 401, 399, 29]) AS days
                """)
            var configuration = OperatorsConfiguration()
            func sweep() async throws -> String {
                try await RecordSweep(
                    bench.pool, configuration: configuration, clock: bench.clock, logger: quiet
                ).sweep(batch: 2)
                return try await bench.sql("SELECT count(*) FROM auth.audit_events")
            }
            #expect(try await sweep() == "2")
            // The database keeps the last 30 days in any case.
            configuration.auditLife = .seconds(1)
            #expect(try await sweep() == "1")
        }
    }
}
