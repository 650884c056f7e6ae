package import Logging
package import Store
import Telemetry

/// Removes evidence and reports that are older than they may become (contract §13a). How old they are says the database.
package struct ReportSweep: Sendable {
    private let reports: ReportTable
    private let configuration: AuthConfiguration
    private let clock: ServiceClock
    private let logger: Logger

    package init(_ reports: ReportTable, configuration: AuthConfiguration, clock: ServiceClock, logger: Logger) {
        self.reports = reports
        self.configuration = configuration
        self.clock = clock
        self.logger = logger
    }

    /// Sweeps until its task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            do throws(StoreError) {
                try await self.sweep()
            } catch {
                self.logger.warning("reports not swept", [.error: "\(error)"])
            }
            try? await Task.sleep(for: AuthLimits.reportSweepEvery)
        }
    }

    /// Removes what has to go by now: at most `AuthLimits.reportSweepRounds` batches, the rest next time.
    package func sweep(batch: Int = AuthLimits.sweepBatch) async throws(StoreError) {
        for _ in 0..<AuthLimits.reportSweepRounds {
            let now = self.clock.store
            let changed = try await self.reports.sweep(
                evidenceReviewedBefore: now - self.configuration.evidenceLife,
                reviewedBefore: now - self.configuration.reportLife, limit: batch)
            guard changed >= batch, !Task.isCancelled else { return }
        }
    }
}
