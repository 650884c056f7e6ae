package import Logging
package import Store
import Telemetry

/// Removes evidence and reports whose time is over (contract §13a), by the database's clock.
package struct ReportSweep: Sendable {
    private let reports: ReportTable
    private let configuration: OperatorsConfiguration
    private let clock: ServiceClock
    private let logger: Logger

    package init(_ reports: ReportTable, configuration: OperatorsConfiguration, clock: ServiceClock, logger: Logger) {
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
            try? await Task.sleep(for: OperatorsLimits.reportSweepEvery)
        }
    }

    /// Removes what is due, at most `OperatorsLimits.reportSweepRounds` batches of it. The next sweep takes the rest.
    package func sweep(batch: Int = OperatorsLimits.sweepBatch) async throws(StoreError) {
        for _ in 0..<OperatorsLimits.reportSweepRounds {
            let now = self.clock.store
            let changed = try await self.reports.sweep(
                evidenceReviewedBefore: now - self.configuration.evidenceLife,
                reviewedBefore: now - self.configuration.reportLife, limit: batch)
            guard changed >= batch, !Task.isCancelled else { return }
        }
    }
}
