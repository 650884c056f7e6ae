import LocalStack
import Store
import Testing

@Suite struct ConnectionTests {
    private static let table =
        "CREATE TABLE box (id int8 CONSTRAINT box_key PRIMARY KEY, count int8 NOT NULL DEFAULT 0)"

    private func count(_ connection: PostgresConnection) async throws -> Int64 {
        try await connection.query("SELECT count(*) FROM box")[0].decode(0)
    }

    @Test func theSessionIsAsConfigured() async throws {
        try await withDatabase { database in
            var configuration = database.configuration
            configuration.url += " options='-c enable_hashjoin=off'"
            configuration.sessionSettings["search_path"] = "one, two"
            let connection = PostgresConnection(configuration, logger: quiet)
            #expect(connection.isLost)
            try await connection.connect()
            #expect(!connection.isLost)
            func setting(_ name: String) async throws -> String {
                try await connection.query("SELECT current_setting(\(name))")[0].decode(0)
            }
            #expect(try await setting("plan_cache_mode") == "force_generic_plan")
            #expect(try await setting("enable_hashjoin") == "off")
            #expect(try await setting("enable_seqscan") == "off")
            #expect(try await setting("search_path") == "one, two")
            #expect(try await setting("synchronous_commit") == "on")
            #expect(try await setting("statement_timeout") == "20s")
            #expect(try await setting("application_name") == "store-tests")
            await connection.close()
            #expect(connection.isLost)
            await #expect(throws: StoreError.unavailable) { try await connection.query("SELECT 1") }
        }
    }

    @Test func aTransactionIsAllOrNothing() async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            try await connection.script(Self.table)
            let added = try await connection.transaction { tx throws(StoreError) in
                let one = try await tx.execute("INSERT INTO box VALUES (1)")
                var pipeline = Pipeline()
                let more = [
                    pipeline.add(Statement(affecting: "INSERT INTO box VALUES (2)")),
                    pipeline.add(Statement(affecting: "INSERT INTO box VALUES (3), (4)")),
                ]
                let answers = try await tx.pipeline(pipeline)
                var sum = one
                for inserted in more { sum += try answers[inserted] }
                return sum
            }
            #expect(added == 4)
            await #expect(throws: StoreError.conflict) {
                try await connection.transaction { tx throws(StoreError) in
                    try await tx.execute("INSERT INTO box VALUES (5)")
                    throw StoreError.conflict
                }
            }
            #expect(try await self.count(connection) == 4)
        }
    }

    @Test func anErrorThatTheBodyHidesIsStillNoCommit() async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            try await connection.script(Self.table)
            await #expect(throws: StoreError.unique(constraint: "box_key")) {
                try await connection.transaction { tx throws(StoreError) in
                    try await tx.execute("INSERT INTO box VALUES (1)")
                    _ = try? await tx.execute("INSERT INTO box VALUES (1)")
                }
            }
            #expect(try await self.count(connection) == 0)
        }
    }

    @Test func aPipelineIsAllOrNothing() async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            try await connection.script(Self.table)
            var pipeline = Pipeline()
            let inserted = (1...2).map { number in
                pipeline.add(Statement(affecting: "INSERT INTO box VALUES (\(Int64(number)))"))
            }
            let counted = pipeline.add(Statement<Int64>(value: "SELECT count(*) FROM box"))
            let answers = try await connection.pipeline(pipeline)
            #expect(try inserted.map { try answers[$0] } == [1, 1])
            #expect(try answers[counted] == 2)
            await #expect(throws: StoreError.unique(constraint: "box_key")) {
                _ = try await connection.pipeline([
                    "INSERT INTO box VALUES (\(Int64(3)))", "INSERT INTO box VALUES (\(Int64(1)))", "DELETE FROM box",
                ])
            }
            #expect(try await self.count(connection) == 2)
            _ = try await connection.pipeline([])
        }
    }

    @Test func otherCallersWaitForTheEndOfATransaction() async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            try await connection.script(Self.table)
            await withTaskGroup { group in
                for _ in 0..<8 {
                    group.addTask {
                        do {
                            try await connection.transaction { tx throws(StoreError) in
                                let before: Int64 = try await tx.query("SELECT count(*) FROM box")[0].decode(0)
                                await Task.yield()
                                try await tx.execute("INSERT INTO box VALUES (\(before))")
                            }
                            try await connection.execute("UPDATE box SET count = count + 1")
                        } catch {
                            Issue.record("\(error)")
                        }
                    }
                }
            }
            #expect(try await self.count(connection) == 8)
        }
    }

    @Test func errorsSayWhatTheCallerCanDo() async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            try await connection.script(
                "CREATE TABLE box (id int8 PRIMARY KEY CHECK (id > 0), due int8 UNIQUE DEFERRABLE INITIALLY DEFERRED)")
            // Found at the commit only.
            await #expect(throws: StoreError.unique(constraint: "box_due_key")) {
                try await connection.execute("INSERT INTO box VALUES (1, 1), (2, 1)")
            }
            await #expect(throws: StoreError.unique(constraint: "box_due_key")) {
                try await connection.transaction { tx throws(StoreError) in
                    try await tx.execute("INSERT INTO box VALUES (1, 1), (2, 1)")
                }
            }
            await #expect(throws: StoreError.refused(sqlState: "22012", message: "data exception")) {
                try await connection.query("SELECT 1 / \(Int64(0))")
            }
            await #expect(throws: StoreError.refused(sqlState: "42P01", message: #"relation "nowhere" does not exist"#))
            {
                try await connection.query("SELECT * FROM nowhere")
            }
            await #expect {
                try await connection.execute("INSERT INTO box VALUES (\(Int64(-4_711)), NULL)")
            } throws: {
                guard case .refused("23514", let message)? = $0 as? StoreError else { return false }
                return !message.contains("4711")
            }
            await #expect(throws: StoreError.unavailable) {
                try await connection.transaction { tx throws(StoreError) in
                    try await tx.script("SET LOCAL statement_timeout = 50")
                    _ = try await tx.query("SELECT pg_sleep(20)")
                }
            }
            #expect(!connection.isLost)
        }
    }

    @Test func ofTwoThatCannotBeSerializedOneIsToldToRetry() async throws {
        try await withDatabase { database in
            let first = try await database.connected()
            let second = try await database.connected()
            try await first.script(Self.table + "; INSERT INTO box VALUES (1)")
            await #expect(throws: StoreError.conflict) {
                try await first.transaction(level: .repeatableRead) { tx throws(StoreError) in
                    _ = try await tx.query("SELECT * FROM box")
                    try await second.execute("UPDATE box SET count = 1")
                    try await tx.execute("UPDATE box SET count = 2")
                }
            }
            #expect(try await first.query("SELECT count FROM box")[0].decode(0, as: Int64.self) == 1)
        }
    }

    @Test func aTableThatChangesUnderAPreparedStatementIsNoticed() async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            try await connection.script(Self.table + "; INSERT INTO box VALUES (1)")
            let all: SQL = "SELECT * FROM box"
            _ = try await connection.query(all)
            try await database.run("ALTER TABLE box ADD COLUMN note text DEFAULT 'new'")
            #expect(try await connection.query(all)[0].decode(2, as: String.self) == "new")
            try await database.run("ALTER TABLE box ADD COLUMN more text DEFAULT 'newer'")
            var twice: Pipeline = [all]
            let second = twice.add(
                Statement(all, first: { row throws(StoreError) in try row.decode(3, as: String.self) }))
            #expect(try await connection.pipeline(twice)[second] == "newer")
            try await database.run("ALTER TABLE box DROP COLUMN more")
            await #expect(throws: StoreError.conflict) {
                try await connection.transaction { tx throws(StoreError) in _ = try await tx.query(all) }
            }
            try await connection.transaction { tx throws(StoreError) in _ = try await tx.query(all) }
            try await connection.script("DEALLOCATE ALL")
            #expect(try await connection.query(all).count == 1)
        }
    }

    @Test func statementsKeptPreparedAreBounded() async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            for number in 0..<StoreLimits.statementsPreparedMax + 50 {
                let text = "SELECT \(number)::int8"
                #expect(
                    try await connection.query(SQL(stringLiteral: text))[0].decode(0, as: Int64.self) == Int64(number))
            }
            let held = try await connection.query("SELECT count(*) FROM pg_prepared_statements")[0].decode(
                0, as: Int64.self)
            #expect(held > 0 && held <= StoreLimits.statementsPreparedMax)
        }
    }

    @Test func aConnectionKilledWhileIdleIsLostAndWroteNothing() async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            try await connection.script(Self.table)
            let pid = try #require(await connection.backendPID)
            try await database.run("SELECT pg_terminate_backend(\(pid), 5000)")
            #expect(connection.isLost)
            await #expect(throws: StoreError.unavailable) { try await connection.execute("INSERT INTO box VALUES (1)") }
            #expect(connection.isLost)
            try await connection.connect()
            #expect(try await self.count(connection) == 0)
        }
    }

    @Test func aConnectionKilledInsideAStatementWroteNothing() async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            let pid = try #require(await connection.backendPID)
            try await connection.script(Self.table)
            async let outcome = failure { () throws(StoreError) in
                _ = try await connection.query("INSERT INTO box SELECT 1 FROM pg_sleep(20)")
            }
            try await waitUntil("the statement runs", within: .seconds(10)) {
                try await database.run("SELECT wait_event FROM pg_stat_activity WHERE pid = \(pid)") == "PgSleep"
            }
            try await database.run("SELECT pg_terminate_backend(\(pid), 5000)")
            #expect(await outcome == .unavailable)
            try await connection.connect()
            #expect(try await self.count(connection) == 0)
        }
    }

    @Test func aTransactionDoesNotGoOnInANewSession() async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            try await connection.script(Self.table)
            await #expect(throws: StoreError.unavailable) {
                try await connection.transaction { tx throws(StoreError) in
                    try await tx.execute("INSERT INTO box VALUES (1)")
                    try await connection.connect()
                    try await tx.execute("INSERT INTO box VALUES (2)")
                }
            }
            #expect(try await self.count(connection) == 0)
        }
    }

    @Test func aServerThatDiesDuringACommitLeavesTheOutcomeOpen() async throws {
        try await withDatabase(alone: true) { database in
            let connection = try await database.connected()
            let pid = try #require(await connection.backendPID)
            // The commit waits inside a deferred trigger until the server dies.
            try await connection.script(
                Self.table + """
                    ; CREATE FUNCTION linger() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_sleep(20); RETURN NULL; END';
                    CREATE CONSTRAINT TRIGGER linger AFTER INSERT ON box DEFERRABLE INITIALLY DEFERRED
                        FOR EACH ROW EXECUTE FUNCTION linger()
                    """)
            async let outcome = failure { () throws(StoreError) in
                try await connection.transaction { tx throws(StoreError) in
                    _ = try await tx.execute("INSERT INTO box VALUES (1)")
                }
            }
            try await waitUntil("the commit runs", within: .seconds(10)) {
                try await database.run("SELECT wait_event FROM pg_stat_activity WHERE pid = \(pid)") == "PgSleep"
            }
            await database.server.kill()
            #expect(await outcome == .outcomeUnknown)
        }
    }
}
