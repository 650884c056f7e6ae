package import Contract
package import Store

/// The only code that reads or writes `auth.console_sessions`. The rows hold digests, with which nobody can sign in.
package struct ConsoleSessionTable: Sendable {
    private let pool: PostgresPool

    package init(_ pool: PostgresPool) { self.pool = pool }

    /// Adds a session, and removes those that have ended.
    /// - Returns: when it ends.
    package func add(
        _ idHash: Bytes32, mark: Bytes32, for life: Duration, at now: StoreTime
    ) async throws(StoreError) -> Timestamp {
        var pipeline = Pipeline()
        pipeline.add("DELETE FROM auth.console_sessions WHERE ends_at <= \(now)")
        let end = pipeline.add(
            Statement<Timestamp>(
                value: """
                    INSERT INTO auth.console_sessions (id_hash, role_mark, ends_at)
                    VALUES (\(idHash), \(mark), \(now + life)) RETURNING ends_at
                    """))
        return try await self.pool.pipeline(pipeline)[end]
    }

    /// The session, if it has not ended, and the time.
    package func session(
        _ idHash: Bytes32, at now: StoreTime
    ) async throws(StoreError) -> (mark: Bytes32, endsAt: Timestamp, now: Timestamp)? {
        let rows = try await self.pool.query(
            """
            SELECT role_mark, ends_at, \(now) FROM auth.console_sessions
            WHERE id_hash = \(idHash) AND ends_at > \(now)
            """)
        guard var row = rows.first else { return nil }
        return (try row.next(), try row.next(), try row.next())
    }

    package func remove(_ idHash: Bytes32) async throws(StoreError) {
        try await self.pool.execute("DELETE FROM auth.console_sessions WHERE id_hash = \(idHash)")
    }
}
