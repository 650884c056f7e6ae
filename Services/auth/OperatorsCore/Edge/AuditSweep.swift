package import Logging
package import Store
import Telemetry

/// Removes audit events whose time is over (contract §20.9), by the database's clock.
package struct AuditSweep: Sendable {
    private let audit: AuditTable
    private let configuration: OperatorsConfiguration
    private let clock: ServiceClock
    private let logger: Logger

    package init(_ audit: AuditTable, configuration: OperatorsConfiguration, clock: ServiceClock, logger: Logger) {
        self.audit = audit
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
                self.logger.warning("audit log not swept", [.error: "\(error)"])
            }
            try? await Task.sleep(for: OperatorsLimits.reportSweepEvery)
        }
    }

    /// Removes what is due, at most `OperatorsLimits.reportSweepRounds` batches of it. The next sweep takes the rest.
    package func sweep(batch: Int = OperatorsLimits.sweepBatch) async throws(StoreError) {
        for _ in 0..<OperatorsLimits.reportSweepRounds {
            let removed = try await self.audit.removeEvents(
                before: self.clock.store - self.configuration.auditLife, limit: batch)
            guard removed >= batch, !Task.isCancelled else { return }
        }
    }
}
