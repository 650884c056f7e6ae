package import Logging
package import Store
import Telemetry

/// Forgets guests that were not seen for a long time (contract §14.3). Nothing depends on it but the size of the table.
package struct GuestSweep: Sendable {
    private let guests: GuestTable
    private let clock: ServiceClock
    private let logger: Logger

    package init(_ guests: GuestTable, clock: ServiceClock, logger: Logger) {
        self.guests = guests
        self.clock = clock
        self.logger = logger
    }

    /// Sweeps until its task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            do throws(StoreError) {
                try await self.sweep()
            } catch {
                self.logger.warning("guests not swept", [.error: "\(error)"])
            }
            try? await Task.sleep(for: AuthLimits.sweepEvery)
        }
    }

    /// Removes all guests whose time is over by now, a bounded number at a time.
    /// - Returns: how many.
    @discardableResult
    package func sweep(batch: Int = AuthLimits.sweepBatch) async throws(StoreError) -> Int {
        let now = self.clock.store
        var removed = 0
        var last = 0
        repeat {
            last = try await self.guests.sweep(at: now, limit: batch)
            removed += last
        } while last == batch && !Task.isCancelled
        return removed
    }
}
