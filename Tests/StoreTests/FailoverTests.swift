import LocalStack
import Store
import Testing

/// A primary and its standby, both named in the address. Nobody tells the pool what happens to them.
@Suite struct FailoverTests {
    @Test func theOneThatTakesWritesIsFound() async throws {
        try await Self.run { primary, standby in
            for hosts in [[primary, standby], [standby, primary]] {
                let pool = PostgresPool(Self.configuration(hosts), connections: 1, logger: quiet)
                let isStandby = try await Self.isStandby(pool)
                #expect(!isStandby)
                pool.close()
            }
            // A setting in the address takes precedence: tools may want to read from a standby.
            var configuration = Self.configuration([standby, primary])
            configuration.url += " target_session_attrs=any"
            let pool = PostgresPool(configuration, connections: 1, logger: quiet)
            #expect(try await Self.isStandby(pool))
            pool.close()
        }
    }

    @Test func whenTheStandbyIsPromotedThePoolWritesThere() async throws {
        try await Self.run { primary, standby in
            let pool = PostgresPool(Self.configuration([primary, standby]), connections: 3, logger: quiet)
            try await pool.execute("INSERT INTO box VALUES (1)")
            await primary.kill()
            await #expect(throws: StoreError.unavailable) { try await pool.execute("INSERT INTO box VALUES (2)") }
            try await standby.promote()
            try await Self.untilItWrites(pool, 3)
            #expect(try await standby.run("SELECT id FROM box ORDER BY id") == "1\n3")
            pool.close()
        }
    }

    /// The kernel of a frozen server takes connections and acknowledges what is sent. Only silence tells.
    @Test func aFrozenPrimaryIsLeft() async throws {
        try await Self.run { primary, standby in
            var configuration = Self.configuration([primary, standby])
            configuration.statementTimeout = .seconds(1)
            let pool = PostgresPool(configuration, connections: 1, logger: quiet)
            try await pool.execute("INSERT INTO box VALUES (1)")
            try await primary.freeze()
            try await standby.promote()
            await #expect(throws: StoreError.outcomeUnknown) { try await pool.execute("INSERT INTO box VALUES (2)") }
            try await Self.untilItWrites(pool, 3)
            #expect(try await standby.run("SELECT id FROM box ORDER BY id") == "1\n3")
            pool.close()
            await primary.thaw()
        }
    }

    private static func isStandby(_ pool: PostgresPool) async throws -> Bool {
        try await pool.query("SELECT pg_is_in_recovery()")[0].decode(0)
    }

    private static func untilItWrites(_ pool: PostgresPool, _ number: Int64) async throws {
        try await waitUntil("the pool writes", within: .seconds(30)) {
            do throws(StoreError) {
                try await pool.execute("INSERT INTO box VALUES (\(number))")
                return true
            } catch {
                guard error == .unavailable else { throw error }
                return false
            }
        }
    }

    private static func configuration(_ hosts: [PostgresServer]) -> PostgresConfiguration {
        PostgresConfiguration(url: PostgresServer.url(of: hosts), applicationName: "store-tests")
    }

    /// A primary that waits for its standby, and a table `box`.
    private static func run(_ body: (PostgresServer, PostgresServer) async throws -> Void) async throws {
        try await withPostgres { primary in
            try await primary.run("CREATE TABLE box (id int8)")
            let standby = try await PostgresServer.standby(of: primary)
            do {
                try await primary.waitFor()
                try await body(primary, standby)
            } catch {
                await standby.stop()
                throw error
            }
            await standby.stop()
        }
    }
}
