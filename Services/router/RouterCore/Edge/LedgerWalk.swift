import Contract
package import Logging
package import Store

/// Removes erased identities from the ledger, once a day for all of them: the ledger has no index by person (contract §20.3).
///
/// A row of mail that still waits for its recipient stays: without it no receipt counts. A later walk finds it.
package struct LedgerWalk: Sendable {
    private let pool: PostgresPool
    private let isWanted: Bool
    private let logger: Logger

    /// - Parameters:
    ///   - pool: for walks alone. A statement reads a whole day.
    ///   - isWanted: if not, rows go with their day.
    package init(_ pool: PostgresPool, isWanted: Bool, logger: Logger) {
        self.pool = pool
        self.isWanted = isWanted
        self.logger = logger
    }

    /// Walks until its task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            var pause = RouterLimits.ledgerWalkLookEvery
            do throws(StoreError) {
                if try await self.walkIfDue() { pause = RouterLimits.ledgerWalkPause }
            } catch {
                self.logger.warning("ledger not walked", [.error: "\(error)"])
            }
            try? await Task.sleep(for: pause)
        }
    }

    /// Walks if an erasure has waited for long enough.
    /// - Returns: whether mail of an erased identity waits, so that another walk is needed.
    @discardableResult
    package func walkIfDue() async throws(StoreError) -> Bool {
        guard self.isWanted else {
            let open = try await self.pool.query(LedgerErasure.open(for: .zero))
            for erasure in open { try await self.pool.execute(LedgerErasure.finish(erasure.id)) }
            return false
        }
        guard try await !self.pool.query(LedgerErasure.open(for: RouterLimits.ledgerWalkAfter)).isEmpty else {
            return false
        }
        let open = try await self.pool.query(LedgerErasure.open(for: ErasureLimits.settledAfter))
        var waiting: Set<WhisperID> = []
        for day in try await self.pool.query(LedgerErasure.days) {
            var removed = ErasureLimits.portion
            while removed >= ErasureLimits.portion {
                let portion = try await self.pool.withTransaction { transaction throws(StoreError) -> Int? in
                    // One router at a time.
                    guard try await transaction.query(LedgerErasure.lock) else { return nil }
                    return try await transaction.execute(LedgerErasure.remove(open, of: day))
                }
                guard let portion else { return false }
                removed = portion
            }
            waiting.formUnion(try await self.pool.query(LedgerErasure.left(open, of: day)))
        }
        let done = open.filter { !waiting.contains($0.identity) }
        for erasure in done { try await self.pool.execute(LedgerErasure.finish(erasure.id)) }
        self.logger.notice("ledger walked", [.count: .number(done.count)])
        return !waiting.isEmpty
    }
}
