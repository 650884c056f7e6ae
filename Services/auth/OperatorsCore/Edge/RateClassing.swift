package import Bus
package import ClusterContract
package import Contract
package import HTTPAccess
package import Logging
package import Store
import Telemetry

/// Classes of rates that operators give to identities and take from them (contract §20.7). Each change and its record are one transaction.
///
/// Gateways are told at once who has which class, and again every few seconds: a Notice may have been lost.
package struct RateClassing: Sendable {
    package let classes: RateClasses
    private let pool: PostgresPool
    private let table: RateClassTable
    private let audit: AuditTable
    private let identities: any Identities
    private let bus: any NoticeBus
    private let metrics: RateClassMetrics
    private let clock: ServiceClock
    private let logger: Logger

    package init(
        _ classes: RateClasses, pool: PostgresPool, identities: any Identities, bus: any NoticeBus, clock: ServiceClock,
        logger: Logger
    ) {
        self.classes = classes
        self.pool = pool
        self.table = RateClassTable(pool)
        self.audit = AuditTable(pool)
        self.identities = identities
        self.bus = bus
        self.metrics = RateClassMetrics(classes.all.map(\.name))
        self.clock = clock
        self.logger = logger
    }

    /// - Parameter event: recorded if it is done.
    package func set(
        _ name: RateClassName?, of identity: WhisperID, recording event: AuditEvent
    ) async throws(StoreError) -> RateClassTable.Outcome {
        let now = self.clock.store
        let (outcome, tokens) = try await self.pool.persistently {
            transaction throws(StoreError) -> (RateClassTable.Outcome, [KeyName]) in
            let outcome = try await self.table.set(name, of: identity, at: now, in: transaction)
            guard outcome == .done else { return (outcome, []) }
            try await self.audit.add(event, at: now, in: transaction)
            return (outcome, try await self.identities.cachedTokens(of: [.identity(identity)], in: transaction))
        }
        guard outcome == .done else { return outcome }
        // Cached sessions name the class.
        await self.identities.forget(tokens)
        do throws(StoreError) {
            try await self.tell()
        } catch {
            self.logger.warning("classes of rates not told", [.error: "\(error)"])
        }
        return outcome
    }

    package func grants() async throws(StoreError) -> [RateClassGrant] { try await self.table.grants() }

    /// Tells all gateways who has a class.
    package func tell() async throws(StoreError) {
        let grants = try await self.table.grants()
        self.bus.publish(ClusterNotice.rateClasses(grants), to: Keyspace.nodes)
        self.metrics.set(grants.map { self.classes.known($0.name) })
    }

    /// Tells them until its task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            do throws(StoreError) {
                try await self.tell()
            } catch {
                self.logger.warning("classes of rates not told", [.error: "\(error)"])
            }
            try? await Task.sleep(for: OperatorsLimits.rateClassesToldEvery)
        }
    }
}
