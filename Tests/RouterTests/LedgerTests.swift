import ClusterContract
import Contract
import LocalStack
import Store
import TestKit
import Testing

@testable import RouterCore

/// The ledger by days. The database's clock is the test's, and in most of them shortly before or after a midnight.
@Suite(.timeLimit(.minutes(20))) struct LedgerTests {
    /// 1 January 2026, 00:00 in UTC.
    private let midnight = Timestamp(milliseconds: 1_767_225_600_000)

    @Test func aRepetitionAcrossMidnightIsKnown() async throws {
        try await Self.run { bench, clock in
            try await clock.set(self.midnight - .seconds(60))
            try await clock.addDays()
            let envelope = bench.envelope(from: 1, to: 2, signedAt: self.midnight - .seconds(90))
            #expect(try await clock.accept(envelope) == .accepted)
            try await clock.set(self.midnight + .seconds(60))
            try await clock.addDays()
            #expect(try await clock.accept(envelope) == .repeated)
            // Signed anew, with a clock that is a little ahead, a day later at most.
            var again = envelope
            again.timestamp = self.midnight + .seconds(3_600)
            #expect(try await clock.accept(again) == .repeated)
            #expect(try await bench.sql("SELECT count(*) FROM router.mailbox") == "1")
        }
    }

    /// A client's clock was ahead over midnight, and is set right before the message is signed anew.
    @Test(arguments: [(clock: -30, gateway: 20), (clock: -1_190, gateway: -600), (clock: -3_600, gateway: 60)])
    func aRepetitionSignedTheDayBeforeIsKnown(clock signed: Int64, gateway: Int64) async throws {
        try await Self.run { bench, clock in
            try await clock.set(self.midnight - .seconds(60))
            try await clock.addDays()
            let envelope = bench.envelope(from: 1, to: 2, signedAt: self.midnight + .seconds(1))
            #expect(try await clock.accept(envelope) == .accepted)
            #expect(try await Self.tables(bench) == "ledger_20260101")
            var again = envelope
            (again.timestamp, again.receivedAt) = (
                self.midnight + .seconds(signed), self.midnight + .seconds(gateway)
            )
            let other = bench.envelope(from: 3, to: 2, signedAt: self.midnight + .seconds(86_400))
            #expect(try await clock.accept(again) == .repeated)
            #expect(try await clock.accept([other, again]) == [.accepted, .repeated])
        }
    }

    /// A batch across midnight, and a repetition of any age as long as its row is there.
    @Test func messagesOfSeveralDaysAreJudgedTogether() async throws {
        try await Self.run { bench, clock in
            try await clock.set(self.midnight)
            try await clock.addDays()
            let envelopes = [-1, 1].map { bench.envelope(from: 1, to: 2, signedAt: self.midnight + .seconds($0)) }
            #expect(try await clock.accept(envelopes) == [.accepted, .accepted])
            #expect(try await Self.tables(bench) == "ledger_20251231\nledger_20260101")
            for day in 1...13 {
                try await clock.set(self.midnight + .seconds(86_400 * Int64(day)))
                try await clock.turn()
            }
            let new = bench.envelope(from: 1, to: 2, signedAt: self.midnight + .seconds(86_400 * 13))
            #expect(try await clock.accept(envelopes + [new]) == [.repeated, .repeated, .accepted])
        }
    }

    /// The database's clock counts. A gateway with a wrong clock lets messages pass that are signed by the same wrong
    /// clock.
    @Test(arguments: [-400, -20, -3, 3, 20, 400, 9_000_000])
    func aWrongClockLosesNothing(days: Int64) async throws {
        try await Self.run { bench, clock in
            try await clock.set(self.midnight)
            try await clock.addDays()
            let envelope = bench.envelope(from: 1, to: 2, signedAt: self.midnight + .seconds(86_400 * days))
            #expect(try await clock.accept(envelope) == .accepted)
            #expect(try await clock.accept(envelope) == .repeated)
            #expect(try await Self.tables(bench) == "ledger_kept")
            // Remembered for as long as any other, and then forgotten.
            try await clock.set(self.midnight + .seconds(86_400 * 14 - 60))
            try await clock.turn()
            #expect(try await clock.accept(envelope) == .repeated)
            try await clock.set(self.midnight + .seconds(86_400 * 14 + 60))
            try await clock.turn()
            #expect(try await bench.sql("SELECT count(*) FROM router.ledger") == "0")
        }
    }

    /// A router that could not make the next day's table goes on.
    @Test func aDayWithoutATableIsRemembered() async throws {
        try await Self.run { bench, clock in
            try await clock.set(self.midnight)
            let envelope = bench.envelope(from: 1, to: 2, signedAt: self.midnight)
            #expect(try await clock.accept(envelope) == .accepted)
            #expect(try await Self.tables(bench) == "ledger_kept")
            try await clock.addDays()
            #expect(try await clock.accept(envelope) == .repeated)
            #expect(try await clock.receive([bench.receipt(of: envelope)]) == 1)
        }
    }

    @Test func aDayIsDroppedWholeWhenAllOfItIsForgotten() async throws {
        try await Self.run { bench, clock in
            try await clock.set(self.midnight)
            try await clock.addDays()
            // The last that its table takes: accepted a day later by the database's clock.
            try await clock.set(self.midnight + .seconds(86_400 * 2 - 60))
            let envelope = bench.envelope(from: 1, to: 2, signedAt: self.midnight + .seconds(86_399))
            #expect(try await clock.accept(envelope) == .accepted)
            #expect(try await Self.tables(bench) == "ledger_20260101")
            try await clock.set(self.midnight + .seconds(86_400 * 16 - 60))
            try await clock.turn()
            #expect(try await clock.accept(envelope) == .repeated)
            #expect(try await clock.receive([bench.receipt(of: envelope)]) == 1)
            try await clock.set(self.midnight + .seconds(86_400 * 16))
            try await clock.turn()
            #expect(try await bench.sql("SELECT to_regclass('router.ledger_20260101') IS NULL") == "t")
            #expect(try await bench.sql("SELECT min(day) - router.day('2026-01-02') FROM router.ledger_days") == "0")
        }
    }

    /// Also while another router does the same, and while statements use the ledger.
    @Test func tomorrowHasATable() async throws {
        try await Self.run { bench, clock in
            try await clock.set(self.midnight)
            for _ in 0..<2 { #expect(try await clock.addDays() == RouterLimits.ledgerDaysAhead) }
            let other = try await TestClock(bench)
            try await other.set(self.midnight + .seconds(86_400))
            try await clock.connection.transaction { transaction throws(StoreError) in
                _ = try await transaction.query("SELECT count(*) FROM router.ledger")
                #expect(try await other.addDays() == RouterLimits.ledgerDaysAhead)
            }
            // A day that is used is not dropped, and nobody waits for it.
            try await other.set(self.midnight + .seconds(86_400 * 40))
            try await clock.connection.transaction { transaction throws(StoreError) in
                _ = try await transaction.query("SELECT count(*) FROM router.ledger")
                #expect(
                    try await other.connection.query(LedgerTable.dropDay(olderThan: RouterLimits.ledgerTTL)) == false)
            }
            #expect(try await other.connection.query(LedgerTable.dropDay(olderThan: RouterLimits.ledgerTTL)))
        }
    }

    /// Receipts about messages of any day, and of none.
    @Test func receiptsFindTheirMessage() async throws {
        try await Self.run { bench, clock in
            var envelopes: [AcceptEnvelope] = []
            for day in 0...4 {
                try await clock.set(self.midnight + .seconds(86_400 * Int64(day)))
                if day > 0 { try await clock.addDays() }
                envelopes.append(
                    bench.envelope(from: 1, to: 2, signedAt: self.midnight + .seconds(86_400 * Int64(day))))
                #expect(try await clock.accept(envelopes.last!) == .accepted)
            }
            let unknown = bench.envelope(from: 1, to: 2, signedAt: self.midnight)
            #expect(try await clock.receive((envelopes + [unknown]).map { bench.receipt(of: $0) }) == 5)
            #expect(try await clock.receive(envelopes.map { bench.receipt(of: $0) }) == 0)
            #expect(try await bench.sql("SELECT count(*) FROM router.mailbox") == "0")
        }
    }

    /// Mail of each day expires, and its sender hears of it.
    @Test func mailOfAllDaysExpires() async throws {
        try await Self.run { bench, clock in
            for day in 0...2 {
                try await clock.set(self.midnight + .seconds(86_400 * Int64(day)))
                if day > 0 { try await clock.addDays() }
                // Signed on the day before or after, as clocks may be.
                let signed = self.midnight + .seconds(86_400 * Int64(day) - 500 + 1_000 * Int64(day % 2))
                #expect(try await clock.accept(bench.envelope(from: 1, to: 2, signedAt: signed)) == .accepted)
            }
            try await clock.set(self.midnight + .seconds(86_400 * 10))
            let expiry = MailboxTable.expire(in: partitionRun(of: person(2)), olderThan: Limits.pendingTTL)
            #expect(try await clock.connection.query(expiry).count == 3)
            #expect(try await bench.sql("SELECT status, count(*) FROM router.ledger GROUP BY 1") == "3|3")
        }
    }

    /// Routers of the release before run beside the migration. Their statements name no day.
    @Test func statementsOfTheReleaseBeforeGoOn() async throws {
        try await Self.run { bench, clock in
            try await clock.set(self.midnight)
            let envelope = bench.envelope(from: 1, to: 2, signedAt: self.midnight)
            let key =
                "message_id = '\(envelope.messageID)' AND sender = \(person(1).bits) AND recipient = \(person(2).bits)"
            _ = try await bench.sql(
                """
                INSERT INTO router.ledger (message_id, sender, recipient, number, accepted_at, id_case)
                VALUES ('\(envelope.messageID)', \(person(1).bits), \(person(2).bits), 1, '2026-01-01', 0)
                """)
            try await clock.addDays()
            #expect(try await clock.accept(envelope) == .repeated)
            let new = bench.envelope(from: 1, to: 2, signedAt: self.midnight)
            #expect(try await clock.accept(new) == .accepted)
            let seen = key.replacing("\(envelope.messageID)", with: "\(new.messageID)")
            #expect(try await bench.sql("SELECT status FROM router.ledger WHERE \(seen)") == "0")
            #expect(try await bench.sql("UPDATE router.ledger SET status = 1 WHERE \(seen) RETURNING status") == "1")
        }
    }

    /// A function that Postgres cannot put into the statement is parsed and planned by each statement that calls it.
    @Test(arguments: ["router.day(now())", "router.segment(nextval('router.mail_numbers'))", "router.peers_since()"])
    func functionsArePutIntoTheirStatements(call: String) async throws {
        try await MailBench.run { bench in
            let plan = try await bench.sql("EXPLAIN (VERBOSE, COSTS false) SELECT \(call)")
            #expect(!plan.contains(call.prefix { $0 != "(" }), "\(plan)")
        }
    }

    // MARK: -

    private static func run(_ body: (MailBench, TestClock) async throws -> Void) async throws {
        try await MailBench.run { bench in
            try await bench.database.run(
                """
                CREATE SCHEMA clock;
                CREATE FUNCTION clock.now() RETURNS timestamptz LANGUAGE sql STABLE AS
                    $$ SELECT to_timestamp(current_setting('clock.milliseconds')::bigint / 1000.0) $$;
                GRANT USAGE ON SCHEMA clock TO whisper_router;
                DO $$ DECLARE d integer; BEGIN
                    FOR d IN DELETE FROM router.ledger_days RETURNING day LOOP
                        EXECUTE format('DROP TABLE router.%I', 'ledger_' || to_char(date '1970-01-01' + d, 'YYYYMMDD'));
                    END LOOP;
                END $$;
                """)
            try await body(bench, try await TestClock(bench))
        }
    }

    /// Names of the tables with rows.
    private static func tables(_ bench: MailBench) async throws -> String {
        try await bench.sql(
            "SELECT DISTINCT relname FROM router.ledger l JOIN pg_class c ON c.oid = l.tableoid ORDER BY 1")
    }
}

/// A router's session whose statements take the time from the test.
private struct TestClock {
    let connection: PostgresConnection

    init(_ bench: MailBench) async throws {
        var store = bench.store
        store.sessionSettings["search_path"] = "clock,pg_catalog"
        self.connection = PostgresConnection(store, logger: quiet)
        try await self.connection.connect()
    }

    func set(_ time: Timestamp) async throws {
        _ = try await self.connection.query(
            "SELECT set_config('clock.milliseconds', \("\(time.milliseconds)"), false)")
    }

    @discardableResult
    func addDays() async throws(StoreError) -> Int32 {
        try await self.connection.query(LedgerTable.addDays(ahead: RouterLimits.ledgerDaysAhead))
    }

    /// A sweep.
    func turn() async throws {
        try await self.addDays()
        while try await self.connection.query(LedgerTable.dropDay(olderThan: RouterLimits.ledgerTTL)) {}
        _ = try await self.connection.execute(LedgerTable.forgetKept(olderThan: RouterLimits.ledgerTTL))
    }

    func accept(_ envelope: AcceptEnvelope) async throws -> AcceptStatement.Verdict {
        try await self.accept([envelope])[0]
    }

    func accept(_ envelopes: [AcceptEnvelope]) async throws -> [AcceptStatement.Verdict] {
        try await self.connection.query(AcceptStatement.statement(for: envelopes)).map(\.verdict)
    }

    /// - Returns: how many were honoured.
    func receive(_ reports: [ReceiptReport]) async throws -> Int {
        try await self.connection.query(ReceiptStatement.statement(for: reports)).count
    }
}

extension MailBench {
    /// Its gateway has the clock that it was signed by.
    fileprivate func envelope(from sender: Int, to recipient: Int, signedAt time: Timestamp) -> AcceptEnvelope {
        var envelope = self.envelope(from: sender, to: recipient)
        (envelope.timestamp, envelope.receivedAt) = (time, time)
        return envelope
    }
}
