import Contract
package import Logging
package import Store
package import Telemetry

/// Removes ended sessions now and then, and counts the others. Nothing depends on it but the size of the table.
package struct SessionSweep: Sendable {
    private let sessions: SessionTable
    private let clock: ServiceClock
    private let metrics: AuthMetrics
    private let logger: Logger

    package init(
        _ sessions: SessionTable, clock: ServiceClock, metrics: AuthMetrics = AuthMetrics(), logger: Logger
    ) {
        self.sessions = sessions
        self.clock = clock
        self.metrics = metrics
        self.logger = logger
    }

    /// Sweeps until its task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            do throws(StoreError) {
                try await self.sweep()
                self.metrics.sessionsLive.set(try await self.sessions.count(at: self.clock.store))
            } catch {
                self.logger.warning("sessions not swept", [.error: "\(error)"])
            }
            try? await Task.sleep(for: AuthLimits.sweepEvery)
        }
    }

    /// Removes all sessions that have ended by now, a bounded number at a time.
    /// - Returns: how many.
    @discardableResult
    package func sweep(batch: Int = AuthLimits.sweepBatch) async throws(StoreError) -> Int {
        let now = self.clock.store
        var removed = 0
        var last = 0
        repeat {
            last = try await self.sessions.sweep(at: now, limit: batch)
            removed += last
        } while last == batch && !Task.isCancelled
        return removed
    }
}
