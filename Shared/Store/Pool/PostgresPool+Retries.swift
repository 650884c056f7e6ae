extension PostgresPool {
    /// Runs a transaction, and again after a conflict or a duplicate key, up to `StoreLimits.attemptsMax` times.
    ///
    /// After such an error nothing was written. The next attempt sees the row that was in the way.
    package func persistently<T: Sendable>(
        _ body: @Sendable (borrowing Transaction) async throws(StoreError) -> T
    ) async throws(StoreError) -> T {
        for _ in 1..<StoreLimits.attemptsMax {
            do throws(StoreError) {
                return try await self.withTransaction(body)
            } catch .conflict {
                continue
            } catch .unique {
                continue
            }
        }
        return try await self.withTransaction(body)
    }
}
