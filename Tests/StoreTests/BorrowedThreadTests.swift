import Dispatch
import LocalStack
import Store
import Testing

/// Statements that run on the thread of whoever asks.
@Suite struct BorrowedThreadTests {
    /// Runs tasks on one thread at a time.
    private final class Line: TaskExecutor {
        private let queue = DispatchQueue(label: "line")

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            self.queue.async { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        }
    }

    private func withBorrowing(
        _ body: @Sendable @escaping (PostgresConnection, TestDatabase) async throws -> Void
    ) async throws {
        try await withDatabase { database in
            let line = Line()
            let connection = PostgresConnection(database.configuration, callers: line, logger: quiet)
            try await connection.connect()
            connection.borrowsThread(true)
            try await withTaskExecutorPreference(line) { try await body(connection, database) }
        }
    }

    @Test func statementsAreTheSame() async throws {
        try await self.withBorrowing { connection, _ in
            try await connection.script("CREATE TABLE box (id int8 CONSTRAINT box_key PRIMARY KEY)")
            var pipeline = Pipeline()
            let inserted = pipeline.add(Statement(affecting: "INSERT INTO box VALUES (1), (2)"))
            let counted = pipeline.add(Statement<Int64>(value: "SELECT count(*) FROM box"))
            let answers = try await connection.pipeline(pipeline)
            #expect(try answers[inserted] == 2)
            #expect(try answers[counted] == 2)
            await #expect(throws: StoreError.unique(constraint: "box_key")) {
                _ = try await connection.pipeline(["INSERT INTO box VALUES (3)", "INSERT INTO box VALUES (1)"])
            }
            let count: Int64 = try await connection.query("SELECT count(*) FROM box")[0].decode(0)
            #expect(count == 2)
        }
    }

    @Test func aSlowStatementGivesTheThreadBack() async throws {
        try await self.withBorrowing { connection, database in
            let pid = Int64(await connection.backendPID!)
            let other = try await database.connected()
            async let asleep = failure { () async throws(StoreError) in
                _ = try await connection.query("SELECT pg_sleep(8)")
            }
            try await waitUntil("it sleeps", within: .seconds(20), every: .milliseconds(1)) {
                try await !other.query(
                    "SELECT FROM pg_stat_activity WHERE pid = \(pid) AND wait_event = 'PgSleep'"
                ).isEmpty
            }
            // A thread that is blocked gets here when the statement is over.
            _ = try await other.query(
                "SELECT pg_cancel_backend(\(pid)::int4) FROM pg_stat_activity WHERE pid = \(pid) AND wait_event = 'PgSleep'"
            )
            #expect(await asleep != nil)
            #expect(!connection.isLost)
        }
    }

    @Test func othersWaitForAnAnswerThatIsOwed() async throws {
        try await self.withBorrowing { connection, _ in
            try await withThrowingDiscardingTaskGroup { group in
                for number in Int64(0)..<20 {
                    group.addTask {
                        connection.borrowsThread(true)
                        let found: Int64 = try await connection.query(
                            "SELECT \(number) FROM pg_sleep(\(number.isMultiple(of: 4) ? 0.03 : 0))")[0].decode(0)
                        #expect(found == number)
                    }
                }
            }
        }
    }

    @Test func aChangedTableIsPreparedAnew() async throws {
        try await self.withBorrowing { connection, database in
            try await connection.script("CREATE TABLE box (id int8 PRIMARY KEY); INSERT INTO box VALUES (7)")
            #expect(try await connection.query("SELECT * FROM box").count == 1)
            let other = try await database.connected()
            try await other.script("ALTER TABLE box ADD COLUMN more int8")
            #expect(try await connection.query("SELECT * FROM box").count == 1)
        }
    }

    @Test func aConnectionThatIsLostMeanwhileSaysSo() async throws {
        try await self.withBorrowing { connection, database in
            let pid = Int64(await connection.backendPID!)
            let other = try await database.connected()
            async let error = failure { () async throws(StoreError) in
                _ = try await connection.query("SELECT pg_sleep(600)")
            }
            while try await other.query("SELECT 1 FROM pg_stat_activity WHERE pid = \(pid) AND wait_event = 'PgSleep'")
                .isEmpty
            {
                await Task.yield()
            }
            _ = try await other.query("SELECT pg_terminate_backend(\(pid)::int4)")
            #expect(await error != nil)
            #expect(connection.isLost)
            try await connection.connect()
            #expect(try await connection.query("SELECT 1").count == 1)
        }
    }
}
