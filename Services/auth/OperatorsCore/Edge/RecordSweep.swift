package import Logging
package import Store
import Telemetry

/// Removes evidence, reports (contract §13a) and audit events (§20.9) whose time is over, by the database's clock.
package struct RecordSweep: Sendable {
    private let reports: ReportTable
    private let audit: AuditTable
    private let configuration: OperatorsConfiguration
    private let clock: ServiceClock
    private let logger: Logger

    package init(_ pool: PostgresPool, configuration: OperatorsConfiguration, clock: ServiceClock, logger: Logger) {
        self.reports = ReportTable(pool)
        self.audit = AuditTable(pool)
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
                self.logger.warning("records not swept", [.error: "\(error)"])
            }
            try? await Task.sleep(for: OperatorsLimits.recordSweepEvery)
        }
    }

    /// Removes what is due, at most `OperatorsLimits.recordSweepRounds` batches of each kind. The next sweep takes the rest.
    package func sweep(batch: Int = OperatorsLimits.sweepBatch) async throws(StoreError) {
        try await Self.rounds(of: batch) { () async throws(StoreError) in
            let now = self.clock.store
            return try await self.reports.sweep(
                evidenceReviewedBefore: now - self.configuration.evidenceLife,
                reviewedBefore: now - self.configuration.reportLife, limit: batch)
        }
        try await Self.rounds(of: batch) { () async throws(StoreError) in
            try await self.audit.removeEvents(before: self.clock.store - self.configuration.auditLife, limit: batch)
        }
    }

    private static func rounds(
        of batch: Int, _ remove: () async throws(StoreError) -> Int
    ) async throws(StoreError) {
        for _ in 0..<OperatorsLimits.recordSweepRounds {
            guard try await remove() >= batch, !Task.isCancelled else { return }
        }
    }
}
