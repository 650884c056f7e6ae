package import Store
import Synchronization

extension AuthBench {
    /// The action of `collide` ended while the transaction was open.
    package struct NothingWaited: Error {}

    /// Executes statements in a transaction that is committed once `action` waits for it.
    /// - Parameter more: executed while `action` waits, before the commit.
    /// - Throws: `NothingWaited` if `action` ended before.
    package func collide<T: Sendable>(
        with statements: [SQL], then more: [SQL] = [], _ action: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        let executed = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
        let released = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
        let isOver = Mutex(false)
        async let committed: Void = self.pool.withTransaction { transaction throws(StoreError) in
            for statement in statements { try await transaction.execute(statement) }
            executed.continuation.yield()
            for await _ in released.stream { break }
            for statement in more { try await transaction.execute(statement) }
        }
        for await _ in executed.stream { break }
        async let answer = {
            defer { isOver.withLock { $0 = true } }
            return try await action()
        }()
        let waits: SQL = """
            SELECT count(*) FROM pg_locks JOIN pg_stat_activity USING (pid)
            WHERE NOT granted AND datname = current_database()
            """
        var waited = true
        while waited, try await self.pool.query(waits)[0].decode(0, as: Int64.self) == 0 {
            waited = !isOver.withLock { $0 }
            await Task.yield()
        }
        released.continuation.yield()
        try await committed
        let result = try await answer
        guard waited else { throw NothingWaited() }
        return result
    }
}
