import AuthTestKit
import Store
import Synchronization
import Testing

extension AuthBench {
    /// Executes statements in a transaction that is committed once `action` waits for it.
    func collide<T: Sendable>(
        with statements: [SQL], _ action: @escaping @Sendable () async throws -> T
    ) async throws -> T {
        let executed = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
        let released = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))
        let isOver = Mutex(false)
        async let committed: Void = self.pool.withTransaction { transaction throws(StoreError) in
            for statement in statements { try await transaction.execute(statement) }
            executed.continuation.yield()
            for await _ in released.stream { break }
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
        while try await self.pool.query(waits)[0].decode(0, as: Int64.self) == 0 {
            guard !isOver.withLock({ $0 }) else {
                Issue.record("nobody waits")
                break
            }
            await Task.yield()
        }
        released.continuation.yield()
        try await committed
        return try await answer
    }
}
