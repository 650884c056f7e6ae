import Store
import Testing

@Suite struct StatementTests {
    private static let all = Statement<[Int64]>(
        "SELECT number FROM box ORDER BY number", each: { row throws(StoreError) in try row.next() })
    private static let count = Statement<Int64>(value: "SELECT count(*) FROM box")

    private static func withBox(_ body: (PostgresConnection) async throws -> Void) async throws {
        try await withDatabase { database in
            let connection = try await database.connected()
            try await connection.script("CREATE TABLE box (number int8); INSERT INTO box VALUES (1), (2), (3)")
            try await body(connection)
        }
    }

    @Test func aStatementAnswersWithItsValue() async throws {
        try await Self.withBox { connection in
            #expect(try await connection.query(Self.all) == [1, 2, 3])
            #expect(try await connection.query(Self.count) == 3)
            let removal = Statement<Int>(affecting: "DELETE FROM box WHERE number > 1")
            #expect(try await connection.query(removal) == 2)
            let first = Statement<Int64?>(
                "SELECT number FROM box", first: { row throws(StoreError) in try row.next() })
            #expect(try await connection.query(first) == 1)
            try await connection.execute("DELETE FROM box")
            #expect(try await connection.query(first) == nil)
            let wrong = Statement<String>(value: "SELECT count(*) FROM box")
            await #expect(throws: StoreError.undecodable(column: 0)) { try await connection.query(wrong) }
        }
    }

    /// Answers come back by the statement that asked, whatever stands before it, between, and in which order they are read.
    @Test func aPipelineAnswersEachStatementByItsTicket() async throws {
        try await Self.withBox { connection in
            var pipeline = Pipeline()
            let before = pipeline.add(Self.count)
            let inserted = pipeline.add("INSERT INTO box VALUES (8)")
            let all = pipeline.add(Self.all)
            let removed = pipeline.add(Statement(affecting: "DELETE FROM box WHERE number < 5"))
            pipeline.add(["INSERT INTO box VALUES (6)", "INSERT INTO box VALUES (7)"])
            let after = pipeline.add(Self.count)
            pipeline.replace(inserted, with: "INSERT INTO box VALUES (4), (5)")
            let answers = try await connection.pipeline(pipeline)
            #expect(try answers[after] == 3)
            #expect(try answers[removed] == 4)
            #expect(try answers[all] == [1, 2, 3, 4, 5])
            #expect(try answers[before] == 3)
            #expect(try answers[all].count == 5, "an answer may be read again")
        }
    }

    @Test func aPipelineIsAllOrNothing() async throws {
        try await Self.withBox { connection in
            var pipeline = Pipeline()
            _ = pipeline.add(Statement(affecting: "DELETE FROM box"))
            pipeline.add("INSERT INTO box VALUES (1 / 0)")
            await #expect(throws: StoreError.self) { try await connection.pipeline(pipeline) }
            #expect(try await connection.query(Self.count) == 3)
            #expect(Pipeline().isEmpty && !pipeline.isEmpty)
            _ = try await connection.pipeline(Pipeline())
        }
    }

    @Test func poolsAndTransactionsTakeThemToo() async throws {
        try await withDatabase { database in
            let pool = PostgresPool(database.configuration, connections: 1, logger: quiet)
            try await pool.withConnection { connection throws(StoreError) in
                try await connection.script("CREATE TABLE box (number int8); INSERT INTO box VALUES (8)")
            }
            let (all, count) = try await pool.withTransaction { transaction throws(StoreError) in
                try await transaction.execute("INSERT INTO box VALUES (9)")
                var pipeline = Pipeline()
                pipeline.add("INSERT INTO box VALUES (10)")
                let all = pipeline.add(Self.all)
                let answers = try await transaction.pipeline(pipeline)
                return (try answers[all], try await transaction.query(Self.count))
            }
            #expect(all == [8, 9, 10] && count == 3)
            #expect(try await pool.query(Self.all) == [8, 9, 10])
            var pipeline = Pipeline()
            pipeline.add("DELETE FROM box")
            let left = pipeline.add(Self.count)
            #expect(try await pool.pipeline(pipeline)[left] == 0)
            pool.close()
        }
    }
}
