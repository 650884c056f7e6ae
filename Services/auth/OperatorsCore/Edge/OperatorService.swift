package import Bus
package import ClusterContract
package import Contract
import HTTPAccess
package import Logging
package import Store
import Telemetry

/// What operators ask and do (contract §10), whether by `/admin` or at the console.
///
/// Both serve it through `gate`, which counts the call and records role, operation, target, time and result.
package struct OperatorService: Sendable {
    let gate: AdminGate
    let views: ClusterViews
    let push: PushViews
    let people: PersonViews
    let healthViews: HealthViews
    let pace = MessagePace()
    let reports: ReportTable
    let bans: BanTable
    let banning: Bans
    let rateClassing: RateClassing
    let audit: AuditTable
    let doors: DoorTable
    let erasureRecords: ErasedRecords
    let identities: any Identities
    let erasuresPerDay: Int64
    let kept: KeptRecords
    let exports = ExportMetrics()
    /// Whether somebody new may register, while no operator has chosen.
    let usualRegistration: RegistrationMode
    let keys: any KeyBus
    let clock: ServiceClock
    let databaseBytesMax: Int64
    let surroundings: Surroundings?
    private let pool: PostgresPool
    let logger: Logger

    package init(
        pool: PostgresPool, identities: any Identities, banning: Bans, rateClassing: RateClassing, keys: any KeyBus,
        rates: RateTable,
        erasuresPerDay: Int64 = OperatorsLimits.erasuresPerDay,
        databaseBytesMax: Int64 = OperatorsLimits.databaseBytesMax, usualRegistration: RegistrationMode = .open,
        kept: KeptRecords = KeptRecords(), surroundings: Surroundings? = nil, clock: ServiceClock, logger: Logger
    ) {
        self.views = ClusterViews(pool)
        self.push = PushViews(pool)
        self.people = PersonViews(pool)
        self.healthViews = HealthViews(pool)
        self.reports = ReportTable(pool)
        self.bans = BanTable(pool)
        self.banning = banning
        self.rateClassing = rateClassing
        self.doors = DoorTable(pool)
        self.erasureRecords = ErasedRecords(pool)
        self.identities = identities
        self.erasuresPerDay = erasuresPerDay
        self.usualRegistration = usualRegistration
        self.kept = kept
        self.surroundings = surroundings
        let audit = AuditTable(pool)
        self.audit = audit
        self.gate = AdminGate(keys: keys, rates: rates, logger: logger) { event async throws(StoreError) in
            try await audit.add(event, at: clock.store)
        }
        self.keys = keys
        self.clock = clock
        self.pool = pool
        self.databaseBytesMax = databaseBytesMax
        self.logger = logger
    }

    /// The time by the clock that bans end by.
    func now() async throws(HTTPRefusal) -> Timestamp {
        try await self.stored { () async throws(StoreError) in try await self.pool.time(self.clock.store) }
    }

    /// Makes a change in one transaction.
    func changed<T: Sendable>(
        _ change: @Sendable (borrowing Transaction) async throws(StoreError) -> T
    ) async throws(HTTPRefusal) -> T {
        try await self.stored { () async throws(StoreError) in try await self.pool.persistently(change) }
    }

    func stored<T>(_ body: () async throws(StoreError) -> T) async throws(HTTPRefusal) -> T {
        do throws(StoreError) {
            return try await body()
        } catch {
            if error.isPassing {
                self.logger.warning("admin call not answered", [.error: "\(error)"])
            } else {
                self.logger.error("admin call not answered", [.error: "\(error)"])
            }
            throw .internalError
        }
    }
}
