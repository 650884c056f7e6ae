package import Bus
import Contract
package import HTTPAccess
package import Hummingbird
package import Logging
package import Store
import Telemetry

/// What operators ask and do, on the ops listener (contract §10). Every call is recorded: who by role, what, about whom, when,
/// with what result. What cannot be recorded is not answered.
package struct AdminRoutes: Sendable {
    let views: ClusterViews
    let push: PushViews
    let reports: ReportTable
    let bans: BanTable
    let banning: Bans
    let audit: AuditTable
    let keys: any KeyBus
    let clock: WallClock
    private let tokens: AdminTokens
    private let rateLimitScale: Double
    private let logger: Logger

    package init(
        pool: PostgresPool, banning: Bans, keys: any KeyBus, tokens: AdminTokens, rateLimitScale: Double,
        clock: @escaping WallClock, logger: Logger
    ) {
        self.views = ClusterViews(pool)
        self.push = PushViews(pool)
        self.reports = ReportTable(pool)
        self.bans = BanTable(pool)
        self.banning = banning
        self.audit = AuditTable(pool)
        self.keys = keys
        self.tokens = tokens
        self.rateLimitScale = rateLimitScale
        self.clock = clock
        self.logger = logger
    }

    /// A call on its way: what came, and what is going to be recorded about it.
    struct Call {
        let request: Request
        let parameters: Parameters
        var event: AuditEvent
        /// The change and its record were one transaction.
        var isRecorded = false
    }

    typealias Handler = @Sendable (inout Call) async throws(HTTPRefusal) -> [UInt8]

    package func add(to router: Router<some RequestContext>) {
        let viewer: [(RouterPath, String, Handler)] = [
            ("admin/stats", "getStats", self.readStatistics), ("admin/reports", "listReports", self.listReports),
            ("admin/bans", "listBans", self.listBans), ("admin/audit", "listAudit", self.listAudit),
            ("admin/messages/{messageId}", "getMessage", self.readMessage),
            ("admin/push/dead-letters", "listDeadLetters", self.listDeadLetters),
        ]
        for (path, name, handler) in viewer {
            router.get(path) { try await self.serve(name, .viewer, $0, $1.parameters, handler) }
        }
        let changes: [(RouterPath, String, Handler)] = [
            ("admin/reports/{id}/review", "reviewReport", self.review), ("admin/ban", "ban", self.ban),
            ("admin/unban", "unban", self.unban),
        ]
        for (path, name, handler) in changes {
            router.post(path) { try await self.serve(name, .operator, $0, $1.parameters, handler) }
        }
    }

    private func serve(
        _ name: String, _ least: AdminRole, _ request: Request, _ parameters: Parameters, _ handler: Handler
    ) async throws(HTTPRefusal) -> Response {
        let role = BearerToken.bytes(in: request.headers).flatMap { self.tokens.role(of: $0) }
        let actor: AuditEvent.Actor =
            switch role {
            case .operator: .operator
            case .viewer: .viewer
            case nil: .nobody
            }
        try await self.admit(actor)
        var call = Call(request: request, parameters: parameters, event: AuditEvent(actor, name))
        let body: [UInt8]
        do throws(HTTPRefusal) {
            guard let role else { throw .noAdminToken }
            guard role >= least else { throw .roleTooLow }
            body = try await handler(&call)
        } catch {
            call.event.result = error.code.rawValue
            try await self.record(call)
            throw error
        }
        if !call.isRecorded { try await self.record(call) }
        return .answer(body)
    }

    /// Without Redis nobody can be counted, and nobody is let in.
    private func admit(_ actor: AuditEvent.Actor) async throws(HTTPRefusal) {
        let wait: Int64?
        do throws(BusError) {
            wait = try await self.keys.admit(
                Keyspace.rateLimit(Rates.admin, actor.rawValue),
                perMinute: Double(Rates.admin.perMinute) * self.rateLimitScale)
        } catch {
            self.logger.warning("admin call not counted", [.error: "\(error)"])
            throw .internalError
        }
        if let wait { throw .tooMany(retryAfterMilliseconds: wait) }
    }

    private func record(_ call: Call) async throws(HTTPRefusal) {
        let now = self.clock()
        try await self.stored { () async throws(StoreError) in try await self.audit.add(call.event, at: now) }
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
