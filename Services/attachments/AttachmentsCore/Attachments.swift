package import Bus
import Contract
package import HTTPAccess
package import Hummingbird
package import Logging
package import Store
package import Telemetry

/// The owner of encrypted files: who may upload and download what, for how long, and when it goes.
package struct Attachments: Sendable {
    private let collector: Collector
    private let strangers: StrangerSweep<AttachmentTable>
    private let erasures: ErasureSweep<ErasedFiles>
    private let transfers: Transfers
    private let routes: PublicRoutes
    private let operators: OperatorRoutes
    private let pool: PostgresPool
    private let hasBlobs: Bool

    /// - Parameter store: if it is a `DiskStore`, this service serves its URLs itself.
    package init(
        pool: PostgresPool, bus: any Bus, store: any ObjectStore, configuration: AttachmentsConfiguration,
        adminTokens: AdminTokens = .none, clock: ServiceClock = .real,
        metrics: AttachmentMetrics = AttachmentMetrics(), logger: Logger
    ) {
        let (attachments, removals) = (AttachmentTable(pool), RemovalTable(pool))
        self.strangers = StrangerSweep(attachments, bytesMax: configuration.strangersBytesMax, logger: logger)
        self.erasures = ErasureSweep(ErasedFiles(pool), pool: pool, logger: logger)
        self.transfers = Transfers(configuration.transfers)
        self.collector = Collector(
            attachments: attachments, removals: removals, store: store, pool: pool, configuration: configuration,
            clock: clock,
            metrics: metrics, logger: logger)
        let blobs = (store as? DiskStore).map { [transfers] in
            BlobRoutes(
                store: $0, attachments: attachments, transfers: transfers, clock: clock, metrics: metrics,
                logger: logger)
        }
        self.routes = PublicRoutes(
            sessions: HTTPSessions(
                pool: pool, bus: bus, rates: configuration.rates, trustedProxies: configuration.trustedProxies,
                clock: clock, logger: logger),
            attachments: attachments, links: LinkTable(pool), store: store, blobs: blobs, configuration: configuration,
            clock: clock, metrics: metrics, logger: logger)
        self.operators = OperatorRoutes(
            tokens: adminTokens,
            gate: AdminGate(
                keys: bus, rates: configuration.rates, logger: logger, record: GrantedAuditLog(pool).add),
            collector: self.collector,
            auditor: Auditor(attachments: attachments, removals: removals, store: store, pool: pool, clock: clock),
            logger: logger)
        self.pool = pool
        self.hasBlobs = blobs != nil
    }

    /// Collects, and watches transfers, until its task is cancelled.
    package func run() async throws {
        try await withThrowingTaskGroup { group in
            group.addTask { try await self.collector.run() }
            group.addTask { await self.strangers.run() }
            group.addTask { await self.erasures.run() }
            group.addTask { try await self.transfers.watch() }
            try await group.waitForAll()
        }
    }

    /// One run of the collector, as an operator asks for it.
    package func collect() async throws(StoreError) -> Collector.Tally {
        try await self.collector.collect(sparingURLs: false)
    }

    package func addRoutes(to router: Router<BlobContext>) { self.routes.add(to: router) }
    package func addOperatorRoutes(to router: Router<BasicRequestContext>) { self.operators.add(to: router) }

    package func canReachStore() async -> Bool { (try? await self.pool.query("SELECT 1")) != nil }

    package var gauges: [ObservedGauge] {
        guard self.hasBlobs else { return [] }
        return [ObservedGauge(.blobTransfers) { [transfers] in Double(transfers.count) }]
    }

    package static func pool(url: Secret, instance: Int, logger: Logger) -> PostgresPool {
        PostgresPool(
            PostgresConfiguration(url: url.revealed, applicationName: ProcessName("attachments", instance).text),
            connections: AttachmentsLimits.connectionsMax, logger: logger)
    }

    /// The schema `attachments`. Reads auth's and the router's, which have to be there before the service starts.
    package static let migrator = Migrator(
        schema: "attachments",
        migrations: [
            Migration(version: 1, name: "attachments", sql: PackageResources._01_attachments_sql),
            Migration(version: 2, name: "statistics", sql: PackageResources._02_statistics_sql),
            Migration(version: 3, name: "clock", sql: PackageResources._03_clock_sql),
            Migration(version: 4, name: "bounds", sql: PackageResources._04_bounds_sql),
            Migration(version: 5, name: "erasures", sql: PackageResources._05_erasures_sql),
            Migration(version: 6, name: "counts of", sql: PackageResources._06_counts_of_sql),
            Migration(version: 7, name: "held about", sql: PackageResources._07_held_about_sql),
        ])
}
