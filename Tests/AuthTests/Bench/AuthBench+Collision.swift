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
        while try await self.pool.query("SELECT count(*) FROM pg_locks WHERE NOT granted")[0].decode(0, as: Int64.self)
            == 0
        {
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
