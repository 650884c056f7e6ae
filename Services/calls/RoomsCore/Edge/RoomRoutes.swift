package import Bus
package import ClusterContract
import Contract
package import HTTPAccess
package import Hummingbird
package import Logging
package import Store
import Telemetry

/// `GET /rooms`: where the caller has a seat. Asked by an app that a push has woken (contract §15.1).
package struct RoomRoutes: Sendable {
    private let sessions: HTTPSessions
    private let pool: PostgresPool
    private let logger: Logger
    private let errors = ErrorMetrics()

    package init(
        pool: PostgresPool, bus: any Bus, rates: RateTable, trustedProxies: TrustedProxies, logger: Logger
    ) {
        self.sessions = HTTPSessions(
            pool: pool, bus: bus, rates: rates, trustedProxies: trustedProxies, logger: logger)
        self.pool = pool
        self.logger = logger
    }

    package func add(to router: Router<ClientContext>) {
        router.get("rooms") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.list(request, context.peer)
            }
        }
    }

    private func list(_ request: Request, _ peer: NetworkAddress?) async throws(HTTPRefusal) -> Response {
        let caller = try await self.sessions.principal(of: request, from: peer, within: Rates.roomControl).id
        do throws(StoreError) {
            return .answer(Rooms(try await self.rooms(of: caller)).json)
        } catch {
            self.logger.warning("request not answered", [.error: "\(error)"])
            throw .internalError
        }
    }

    /// As the tables have them: any process answers, whoever owns the shares.
    private func rooms(of caller: PrincipalID) async throws(StoreError) -> [RoomState] {
        let ids = try await self.pool.query(RoomTable.rooms(of: [caller]))[caller] ?? []
        return try await RoomTable.load(ids).run(on: self.pool)
            // It may have left between the two reads.
            .filter { $0.participants[caller] != nil }
            .sorted { ($0.createdAt, "\($0.id)") < ($1.createdAt, "\($1.id)") }
            .map { $0.state() }
    }
}
