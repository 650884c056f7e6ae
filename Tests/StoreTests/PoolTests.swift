import LocalStack
import Testing

@testable import Store

@Suite struct PoolTests {
    @Test func connectionsAreSharedAndBounded() async throws {
        try await withDatabase { database in
            let pool = PostgresPool(database.configuration, connections: 3, waitMax: .seconds(120), logger: quiet)
            try await pool.execute("CREATE TABLE box (pid int4)")
            await withTaskGroup { group in
                for _ in 0..<50 {
                    group.addTask {
                        do {
                            try await pool.withTransaction { tx throws(StoreError) in
                                try await tx.execute("INSERT INTO box VALUES (pg_backend_pid())")
                            }
                        } catch {
                            Issue.record("\(error)")
                        }
                    }
                }
            }
            let rows = try await pool.query("SELECT count(*), count(DISTINCT pid) FROM box")
            #expect(try rows[0].decode(0, as: Int64.self) == 50)
            #expect(try (1...3).contains(rows[0].decode(1, as: Int64.self)))
            #expect(pool.status.busy == 0 && pool.status.waiting == 0)
        }
    }

    @Test func aCallerDoesNotWaitForEver() async throws {
        try await withDatabase { database in
            let pool = PostgresPool(database.configuration, connections: 1, waitMax: .milliseconds(20), logger: quiet)
            try await pool.withConnection { connection throws(StoreError) in
                await #expect(throws: StoreError.unavailable) { try await pool.query("SELECT 1") }
                #expect(pool.status == .init(busy: 1, idle: 0, waiting: 0))
            }
            #expect(try await pool.query("SELECT 1").count == 1)
        }
    }

    @Test func aClosedPoolRefusesThoseWhoWaitAndThoseWhoCome() async throws {
        try await withDatabase { database in
            let pool = PostgresPool(database.configuration, connections: 1, waitMax: .seconds(60), logger: quiet)
            try await pool.withConnection { connection throws(StoreError) in
                async let waiting = failure { () throws(StoreError) in _ = try await pool.query("SELECT 1") }
                while pool.status.waiting == 0 { await Task.yield() }
                pool.close()
                #expect(await waiting == .unavailable)
                // A caller that has a connection may finish.
                _ = try await connection.query("SELECT 1")
            }
            await #expect(throws: StoreError.unavailable) { try await pool.query("SELECT 1") }
            #expect(pool.status == .init())
        }
    }

    @Test func aKilledConnectionIsReplacedBeforeItsNextUse() async throws {
        try await withDatabase { database in
            let pool = PostgresPool(database.configuration, connections: 2, logger: quiet)
            let pid: Int32 = try await pool.query("SELECT pg_backend_pid()")[0].decode(0)
            try await database.run("SELECT pg_terminate_backend(\(pid), 5000)")
            #expect(try await pool.query("SELECT pg_backend_pid()")[0].decode(0, as: Int32.self) != pid)
        }
    }

    @Test func afterACrashOfTheServerThePoolRecoversWithWhatWasCommitted() async throws {
        try await withDatabase(alone: true) { database in
            let pool = PostgresPool(database.configuration, connections: 2, logger: quiet)
            try await pool.execute("CREATE TABLE box (id int8)")
            try await pool.execute("INSERT INTO box VALUES (1)")
            await database.server.kill()
            await #expect(throws: StoreError.unavailable) { try await pool.execute("INSERT INTO box VALUES (2)") }
            // Refused by the limiter without another attempt, or after one that fails.
            await #expect(throws: StoreError.unavailable) { try await pool.query("SELECT 1") }
            try await database.server.start()
            try await waitUntil("the pool is back", within: .seconds(10)) {
                do { return try await pool.query("SELECT id FROM box")[0].decode(0, as: Int64.self) == 1 } catch {
                    return false
                }
            }
        }
    }

    @Test func whoeverComesFirstAfterAnOutageDoesNotMakeTheOthersFail() async throws {
        try await withDatabase(alone: true) { database in
            let pool = PostgresPool(database.configuration, connections: 8, logger: quiet)
            let answers = {
                await withTaskGroup(of: Bool.self) { group in
                    for _ in 0..<8 { group.addTask { (try? await pool.query("SELECT pg_sleep(0.1)")) != nil } }
                    return await group.reduce(into: []) { $0.append($1) }
                }
            }
            #expect(await answers() == [Bool](repeating: true, count: 8))
            await database.server.kill()
            #expect(await answers() == [Bool](repeating: false, count: 8))
            try await database.server.start()
            // Nobody asks until the pause is over.
            try await Task.sleep(for: StoreLimits.reconnect.longest)
            #expect(await answers() == [Bool](repeating: true, count: 8))
        }
    }

    @Test func whileTheServerIsAwayOneCallerPerPauseTries() {
        let start = ContinuousClock.now
        let (shortest, longest) = (StoreLimits.reconnect.first, StoreLimits.reconnect.longest)
        var limiter = ReconnectLimiter()
        func admitted(_ times: Duration...) -> [Bool] { times.map { limiter.admits(at: start + $0) } }
        #expect(admitted(.zero, .zero) == [true, true])
        limiter.failed(at: start)
        #expect(admitted(.zero) == [false] && !limiter.isTrying)
        #expect(admitted(shortest, shortest) == [true, false] && limiter.isTrying)
        #expect(admitted(shortest * 2) == [true])
        for _ in 0..<100 { limiter.failed(at: start) }
        #expect(!limiter.isTrying)
        #expect(admitted(longest - .milliseconds(1), longest, longest) == [false, true, false])
        limiter.succeeded()
        #expect(admitted(.zero, .zero) == [true, true])
    }
}
