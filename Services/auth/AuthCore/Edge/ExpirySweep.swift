package import Logging
package import Store
import Telemetry

/// A table whose rows are worth nothing after their time. Nothing depends on their removal but the size of the table.
package protocol ExpiringTable: Sendable {
    /// What the log says when a sweep fails.
    static var sweepFailed: StaticString { get }

    /// Removes rows whose time is over.
    /// - Parameter limit: removes no more rows than this.
    /// - Returns: how many.
    func sweep(at now: StoreTime, limit: Int) async throws(StoreError) -> Int
}

extension SessionTable: ExpiringTable {
    package static let sweepFailed: StaticString = "sessions not swept"
}

extension GuestTable: ExpiringTable {
    /// Guests that were not seen for a long time (contract §14.3).
    package static let sweepFailed: StaticString = "guests not swept"
}

extension EndedInvitations: ExpiringTable {
    package static let sweepFailed: StaticString = "invitations not swept"
}

extension AbandonedProfiles: ExpiringTable {
    package static let sweepFailed: StaticString = "profiles not swept"
}

/// Removes the expired rows of a table now and then.
package struct ExpirySweep<Table: ExpiringTable>: Sendable {
    private let table: Table
    private let clock: ServiceClock
    private let logger: Logger

    package init(_ table: Table, clock: ServiceClock, logger: Logger) {
        self.table = table
        self.clock = clock
        self.logger = logger
    }

    /// Sweeps until its task is cancelled.
    /// - Parameter afterwards: runs behind each sweep that succeeded.
    package func run(afterwards: @Sendable () async throws(StoreError) -> Void = {}) async {
        while !Task.isCancelled {
            do throws(StoreError) {
                try await self.sweep()
                try await afterwards()
            } catch {
                self.logger.warning(Table.sweepFailed, [.error: "\(error)"])
            }
            try? await Task.sleep(for: AuthLimits.sweepEvery)
        }
    }

    /// Removes all rows whose time is over by now, a bounded number at a time.
    /// - Returns: how many.
    @discardableResult
    package func sweep(batch: Int = AuthLimits.sweepBatch) async throws(StoreError) -> Int {
        let now = self.clock.store
        var removed = 0
        var last = 0
        repeat {
            last = try await self.table.sweep(at: now, limit: batch)
            removed += last
        } while last == batch && !Task.isCancelled
        return removed
    }
}
