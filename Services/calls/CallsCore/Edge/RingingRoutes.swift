package import Bus
package import ClusterContract
import Contract
package import HTTPAccess
package import Hummingbird
package import Logging
package import Store
import Telemetry

/// `GET /calls/ringing`: does it still ring? Asked by an app that a push has woken, perhaps too late.
package struct RingingRoutes: Sendable {
    private let sessions: HTTPSessions
    private let pool: PostgresPool
    private let keys: any KeyBus
    private let logger: Logger
    private let errors = ErrorMetrics()

    package init(
        pool: PostgresPool, bus: any Bus, rates: RateTable, trustedProxies: TrustedProxies, logger: Logger
    ) {
        self.sessions = HTTPSessions(
            pool: pool, bus: bus, rates: rates, trustedProxies: trustedProxies, logger: logger)
        self.pool = pool
        self.keys = bus
        self.logger = logger
    }

    package func add(to router: Router<ClientContext>) {
        router.get("calls/ringing") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.ringing(request, context.peer)
            }
        }
    }

    private func ringing(_ request: Request, _ peer: NetworkAddress?) async throws(HTTPRefusal) -> Response {
        let identity = try await self.sessions.session(of: request, from: peer, within: Rates.ringing).caller.identity
        do throws(StoreError) {
            return self.response(try await self.calls(for: identity))
        } catch {
            self.logger.warning("request not answered", [.error: "\(error)"])
            throw .internalError
        }
    }

    /// The calls that Redis shows, else those in Postgres: a missing key in Redis proves nothing.
    private func calls(for identity: WhisperID) async throws(StoreError) -> [RingingCall] {
        if let call = await self.shown(to: identity), call.ringsUntil > .now { return [call] }
        return try await self.pool.query(CallTable.ringing(for: identity, at: .now))
    }

    private func shown(to identity: WhisperID) async -> RingingCall? {
        guard let engaged = try? await self.keys.get(CallShare.all.map { Keyspace.engaged(identity, in: $0) }) else {
            return nil
        }
        let ids = engaged.compactMap { $0.flatMap { try? UUIDText(decoding: $0) } }
        // One slot each: more than one is a leftover, and the tables know which.
        guard ids.count == 1, let bytes = try? await self.keys.get(Keyspace.call(ids[0])),
            let call = try? RingingCall(decoding: bytes), call.callee == identity
        else { return nil }
        return call
    }

    private func response(_ calls: [RingingCall]) -> Response {
        var json = JSONWriter()
        json.add("calls", objects: calls) { call, json in
            json.add("callId", call.callID)
            json.add("from", call.caller)
            json.add("isVideo", call.isVideo)
            json.add("wakeId", call.wakeID)
            json.add("ringsUntil", call.ringsUntil)
        }
        return .answer(json.finished())
    }
}
