import ClusterContract
import Contract
import LocalStack
import Store
import TestKit
import Testing

@testable import RouterCore

@Suite(.serialized) struct ExpiryTests {
    private let ttl = Duration.seconds(72 * 3_600)

    /// Mail that has waited for so many days, most of it in the kept segment.
    private func insert(_ count: Int, for recipient: Int, daysAgo: Int = 4, _ bench: MailBench) async throws {
        _ = try await bench.sql(
            """
            WITH mail AS (
                SELECT n, gen_random_uuid() AS id, nextval('router.mail_numbers') AS number FROM generate_series(1, \(count)) n
            ), entered AS (
                INSERT INTO router.ledger (message_id, sender, recipient, number, accepted_at, id_case)
                SELECT id, \(person(1).bits), \(person(recipient).bits), number, now() - interval '\(daysAgo) days', 0 FROM mail
            )
            INSERT INTO router.mailbox (recipient, number, sender, message_id, accepted_at, id_case, payload, segment)
            SELECT \(person(recipient).bits), number, \(person(1).bits), id, now() - interval '\(daysAgo) days', 0, 'x',
                CASE WHEN n <= 100 THEN router.segment(number) ELSE 3 END FROM mail
            """)
    }

    /// A receipt and the sweep at the same two messages, from both ends.
    @Test(.timeLimit(.minutes(20))) func expiryAndReceiptsDoNotWaitForEachOther() async throws {
        try await MailBench.run { bench in
            let (batch, sweep) = (try await bench.connection(), try await bench.connection())
            let (early, late) = (bench.envelope(from: 1, to: 2), bench.envelope(from: 1, to: 2))
            _ = try await batch.query(AcceptStatement.statement(for: [early, late]))
            // Long ago.
            _ = try await bench.sql(
                "UPDATE router.ledger SET accepted_at = now() - interval '4 days', day = -1; UPDATE router.mailbox SET accepted_at = now() - interval '4 days'"
            )
            let expiry = MailboxTable.expire(in: partitionRun(of: person(2)), olderThan: ttl)
            let expired = try await withThrowingTaskGroup(of: Int.self) { group in
                try await batch.transaction { transaction throws(StoreError) in
                    _ = try await transaction.query(ReceiptStatement.statement(for: [bench.receipt(of: late)]))
                    group.addTask { try await sweep.query(expiry).count }
                    try? await waitUntil("the sweep is through, or waits", within: .seconds(30)) {
                        try await bench.sql(
                            """
                            SELECT (SELECT count(*) FROM router.outcomes) = 1 OR EXISTS (
                                SELECT FROM pg_stat_activity
                                WHERE wait_event_type = 'Lock' AND datname = current_database())
                            """) == "t"
                    }
                    _ = try await transaction.query(ReceiptStatement.statement(for: [bench.receipt(of: early)]))
                }
                return try await group.next()!
            }
            #expect(expired == 1)
            // Each became what was said of it first, and nobody hears of it twice.
            #expect(
                try await bench.sql("SELECT status FROM router.ledger ORDER BY number") == "3\n1")
            #expect(try await bench.sql("SELECT kind FROM router.outcomes ORDER BY kind") == "1\n3")
            #expect(try await bench.sql("SELECT count(*) FROM router.mailbox") == "0")
        }
    }

    /// More than one statement removes, and whatever is wrong with another partition.
    @Test func oneSweepRemovesAllThatIsDue() async throws {
        try await MailBench.run { bench in
            let other = 40_000
            #expect(Partition(of: person(other)) != Partition(of: person(2)))
            try await insert(12_000, for: 2, bench)
            try await insert(50, for: 2, daysAgo: 2, bench)
            try await insert(10, for: other, bench)
            // Its rows cannot be deleted.
            _ = try await bench.sql(
                """
                CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
                CREATE TRIGGER refuse BEFORE DELETE ON router.mailbox FOR EACH ROW
                    WHEN (OLD.recipient = \(person(other).bits)) EXECUTE FUNCTION refuse();
                """)
            try await bench.withRouter(RouterConfiguration(pendingTTL: ttl)) { router, pool in
                #expect(await router.expireMail(pool) == false)
                #expect(
                    try await bench.sql("SELECT recipient, count(*) FROM router.mailbox GROUP BY 1 ORDER BY count(*)")
                        == "\(person(other).bits)|10\n\(person(2).bits)|50")
                #expect(try await bench.sql("SELECT count(*) FROM router.outcomes WHERE kind = 3") == "12000")
                #expect(try await bench.sql("SELECT count(*) FROM router.ledger WHERE status = 3") == "12000")
                let counted = try await pool.query(MailboxTable.statistics(of: partitionRun(of: person(2))))
                #expect(counted.counted == 50 && (172_000...173_000).contains(counted.oldestSeconds ?? 0))
                #expect(try await bench.sql("SELECT pending_messages FROM router.statistics") == "60")
            }
        }
    }

    /// Mail that is not due is not read, however much of it there is.
    @Test func dueMailIsFoundByItsIndex() async throws {
        try await MailBench.run { bench in
            try await insert(12_000, for: 2, daysAgo: 2, bench)
            try await insert(110, for: 2, bench)
            _ = try await bench.sql("ANALYZE router.mailbox_kept")
            func scans() async throws -> String {
                try await bench.sql(
                    """
                    SELECT seq_scan, (SELECT idx_scan > 0 FROM pg_stat_user_indexes WHERE indexrelname = 'mailbox_kept_due')
                    FROM pg_stat_user_tables WHERE relname = 'mailbox_kept'
                    """)
            }
            let before = try await scans()
            let connection = try await bench.connection()
            let run = partitionRun(of: person(2))
            #expect(try await connection.query(MailboxTable.expire(in: run, olderThan: ttl)).count == 110)
            #expect(try await connection.query(MailboxTable.statistics(of: run)).counted == 12_000)
            _ = try await connection.query("SELECT pg_stat_force_next_flush()")
            #expect(before.hasSuffix("|f"))
            #expect(try await scans() == before.replacing("|f", with: "|t"))
        }
    }

    /// The ledger has forgotten it: nobody can acknowledge it any more.
    @Test func mailWithoutALedgerRowExpires() async throws {
        try await MailBench.run { bench in
            try await insert(1, for: 2, bench)
            _ = try await bench.sql("DELETE FROM router.ledger")
            let connection = try await bench.connection()
            let expiry = MailboxTable.expire(in: partitionRun(of: person(2)), olderThan: ttl)
            #expect(try await connection.query(expiry).count == 1)
            #expect(try await bench.sql("SELECT count(*) FROM router.mailbox") == "0")
        }
    }

    @Test func whatIsManyIsEstimated() {
        let many = RouterLimits.pendingCountedMax + 1
        func run(_ counted: Int64) -> MailboxTable.Statistics {
            .init(partitions: 8, counted: counted, estimated: 3_200_000)
        }
        #expect(pendingMessages([run(7), run(5)]) == 12)
        #expect(pendingMessages([run(7), run(many)]) == 200_000)
        #expect(pendingMessages([.init(partitions: 8, counted: many, estimated: 0)]) == many)
        #expect(pendingMessages([]) == 0)
    }

    /// Without its row in the ledger no receipt about a message counts: a router that is told to keep mail longer does not start.
    @Test func mailIsNotKeptLongerThanTheLedger() async throws {
        let folder = try TemporaryFolder(named: "router")
        defer { folder.remove() }
        let seconds = RouterLimits.ledgerTTL.components.seconds
        let router = Command(
            "\(StackConfiguration.programsBesideThisOne)/whisper-router",
            environment: [
                "PENDING_TTL_SECONDS": "\(seconds)", "OPS_PORT": "1", "POSTGRES_URL": "postgres://127.0.0.1:1",
            ],
            log: folder.path + "/log")
        let process = try await ChildProcess.start(router, name: "router")
        // A router that starts goes on trying to reach Postgres.
        let watch = Task {
            try await Task.sleep(for: .seconds(20))
            await process.kill()
        }
        #expect(await process.end() == .exited(78))
        watch.cancel()
        let most = Limits.pendingTTLMax.components.seconds
        let log = try String(contentsOfFile: folder.path + "/log", encoding: .utf8)
        #expect(log.contains("PENDING_TTL_SECONDS is") && log.contains("must be an integer in 1...\(most)"), "\(log)")
    }
}
