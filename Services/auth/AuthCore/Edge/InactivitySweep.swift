import ClusterContract
import Contract
package import Logging
package import Store
import Telemetry

/// Erases identities that were not seen for `INACTIVE_DAYS` (contract §20.9), as people and operators erase them.
///
/// An inactive identity is counted for a day before, and so is the setting itself: a new or smaller number erases nobody at once. Meanwhile
/// `RetentionDue` fires. An identity that logs in stays. A banned one stays, too: an erasure would end the ban.
package struct InactivitySweep: Sendable {
    private let pool: PostgresPool
    private let eraser: Eraser
    private let operators: any OperatorRecords
    private let days: Int64
    private let metrics = InactivityMetrics()
    private let clock: ServiceClock
    private let logger: Logger

    package init(
        pool: PostgresPool, eraser: Eraser, operators: any OperatorRecords, days: Int64, clock: ServiceClock,
        logger: Logger
    ) {
        self.pool = pool
        self.eraser = eraser
        self.operators = operators
        self.days = days
        self.clock = clock
        self.logger = logger
    }

    /// Sweeps until its task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            do throws(StoreError) {
                try await self.sweep()
            } catch {
                self.logger.warning("inactive identities not swept", [.error: "\(error)"])
            }
            try? await Task.sleep(for: AuthLimits.sweepEvery)
        }
    }

    /// - Returns: how many were erased, at most `AuthLimits.inactiveErasedPerSweep`.
    @discardableResult
    package func sweep() async throws(StoreError) -> Int {
        let now = self.clock.store
        let (isNoticed, before) = try await self.pool.query(InactiveIdentities.announce(self.days, at: now))
        if let before, before != self.days {
            self.logger.warning(
                "another INACTIVE_DAYS was counted by before, so the notice begins anew",
                [.reason: "\(before) days before, \(self.days) now"])
        }
        self.metrics.identities.set(try await self.pool.query(InactiveIdentities.count(self.days, at: now)))
        guard isNoticed else { return 0 }
        let unseen = self.days + AuthLimits.inactivityNoticeDays
        let limit = AuthLimits.inactiveErasedPerSweep
        var erased = 0
        // One that fails keeps no other from its turn.
        var failure: StoreError?
        for identity in try await self.pool.query(InactiveIdentities.list(unseen, at: now, limit: limit)) {
            let order = ErasureOrder(.identity(identity), sentMail: .keep, by: .retention, unseenForDays: unseen)
            guard !Task.isCancelled else { break }
            do throws(StoreError) {
                if try await self.erase(order) { erased += 1 }
            } catch {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
        return erased
    }

    /// - Returns: whether it was erased. It may have been seen meanwhile, and the hour may have no room.
    private func erase(_ order: ErasureOrder) async throws(StoreError) -> Bool {
        let now = self.clock.store
        let decided = try await self.pool.persistently { transaction throws(StoreError) -> DecidedErasure? in
            try await transaction.execute(InactiveIdentities.lock)
            guard try await transaction.query(InactiveIdentities.mayErase(at: now)) else { return nil }
            return try await self.eraser.erase(order, in: transaction) { transaction throws(StoreError) in
                try await self.operators.forget(order.principal, in: transaction)
            }
        }
        guard let decided else { return false }
        await self.eraser.enforce(decided, by: .retention)
        self.eraser.close(decided)
        return true
    }
}
