import LocalStack
import TestKit

extension Cluster {
    /// Executes statements in a transaction that is committed once another one waits for it.
    /// - Parameter action: begins when they have been executed, and brings about the other.
    /// - Returns: what it returns. A client that is not returned hangs up when the action is done.
    @discardableResult
    static func collide<T>(with statements: String, _ action: () async throws -> T) async throws -> T {
        let name = "collision \(newUUID())"
        async let committed = self.database(
            """
            SET application_name = '\(name)';
            BEGIN; \(statements);
            DO $$ BEGIN
                FOR _ IN 1..600 LOOP
                    PERFORM pg_stat_clear_snapshot();
                    IF EXISTS (SELECT FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))) THEN RETURN; END IF;
                    PERFORM pg_sleep(0.05);
                END LOOP;
                RAISE EXCEPTION 'nobody waits';
            END $$;
            COMMIT
            """)
        try await waitUntil("the statements are executed", within: .seconds(20), every: .milliseconds(50)) {
            try await self.database(
                "SELECT count(*) FROM pg_stat_activity WHERE application_name = '\(name)' AND wait_event = 'PgSleep'")
                == "1"
        }
        let result = try await action()
        _ = try await committed
        return result
    }
}
