package import Bus
package import Contract
package import HTTPAccess
package import Logging
package import Store
import Telemetry

/// What operators ask and do (contract §10), whether by `/admin` or at the console. Every call is counted, and recorded: who by
/// role, what, about whom, when, with what result. What cannot be recorded is not answered.
package struct AdminDesk: Sendable {
    let views: ClusterViews
    let push: PushViews
    let reports: ReportTable
    let bans: BanTable
    let banning: Bans
    let audit: AuditTable
    let keys: any KeyBus
    let clock: ServiceClock
    let databaseBytesMax: Int64
    private let pool: PostgresPool
    private let rates: RateTable
    private let logger: Logger

    package init(
        pool: PostgresPool, banning: Bans, keys: any KeyBus, rates: RateTable,
        databaseBytesMax: Int64 = AuthLimits.databaseBytesMax, clock: ServiceClock, logger: Logger
    ) {
        self.views = ClusterViews(pool)
        self.push = PushViews(pool)
        self.reports = ReportTable(pool)
        self.bans = BanTable(pool)
        self.banning = banning
        self.audit = AuditTable(pool)
        self.keys = keys
        self.rates = rates
        self.clock = clock
        self.pool = pool
        self.databaseBytesMax = databaseBytesMax
        self.logger = logger
    }

    /// A call on its way: what is going to be recorded about it.
    package struct Call: Sendable {
        package var event: AuditEvent
        /// The change and its record were one transaction.
        var isRecorded = false
    }

    /// Does what somebody asks.
    /// - Parameters:
    ///   - name: the operation's, as it is recorded.
    ///   - least: the role that it takes.
    ///   - role: of whoever asks; nil for nobody.
    package func serve<Outcome>(
        _ name: String, _ least: AdminRole, as role: AdminRole?,
        _ body: (inout Call) async throws(HTTPRefusal) -> Outcome
    ) async throws(HTTPRefusal) -> Outcome {
        let actor: AuditEvent.Actor =
            switch role {
            case .operator: .operator
            case .viewer: .viewer
            case nil: .nobody
            }
        try await self.admit(actor)
        var call = Call(event: AuditEvent(actor, name))
        let outcome: Outcome
        do throws(HTTPRefusal) {
            guard let role else { throw .noAdminToken }
            guard role >= least else { throw .roleTooLow }
            outcome = try await body(&call)
        } catch {
            call.event.result = error.code.rawValue
            try await self.record(call)
            throw error
        }
        if !call.isRecorded { try await self.record(call) }
        return outcome
    }

    /// Without Redis nobody can be counted, and nobody is let in.
    private func admit(_ actor: AuditEvent.Actor) async throws(HTTPRefusal) {
        let wait: Int64?
        do throws(BusError) {
            wait = try await self.keys.admit(
                Keyspace.rateLimit(Rates.admin, actor.rawValue), self.rates.allowance(of: Rates.admin))
        } catch {
            self.logger.warning("admin call not counted", [.error: "\(error)"])
            throw .internalError
        }
        if let wait { throw .tooMany(retryAfterMilliseconds: wait) }
    }

    private func record(_ call: Call) async throws(HTTPRefusal) {
        try await self.stored { () async throws(StoreError) in
            try await self.audit.add(call.event, at: self.clock.store)
        }
    }

    /// By the clock that bans end by.
    func now() async throws(HTTPRefusal) -> Timestamp {
        try await self.stored { () async throws(StoreError) in try await self.pool.time(self.clock.store) }
    }

    func stored<T>(_ body: () async throws(StoreError) -> T) async throws(HTTPRefusal) -> T {
        do throws(StoreError) {
            return try await body()
        } catch {
            if HandlingError.store(error).isPassing {
                self.logger.warning("admin call not answered", [.error: "\(error)"])
            } else {
                self.logger.error("admin call not answered", [.error: "\(error)"])
            }
            throw .internalError
        }
    }
}
