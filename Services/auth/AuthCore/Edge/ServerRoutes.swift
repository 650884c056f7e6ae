package import Bus
package import ClusterContract
import Contract
package import HTTPAccess
package import Hummingbird
package import Logging
package import Store
import Telemetry

/// `GET /server`: what somebody may know before they register (contract §20.6).
package struct ServerRoutes: Sendable {
    private let hint: RegistrationHint
    private let gate: AddressGate
    private let configuration: AuthConfiguration
    private let clock: ServiceClock
    private let logger: Logger
    private let errors = ErrorMetrics()

    package init(
        pool: PostgresPool, bus: any Bus, rates: RateTable, trustedProxies: TrustedProxies,
        configuration: AuthConfiguration, clock: ServiceClock, logger: Logger
    ) {
        self.hint = RegistrationHint(pool, usual: configuration.registration)
        self.gate = AddressGate(bus: bus, rates: rates, trustedProxies: trustedProxies)
        self.configuration = configuration
        self.clock = clock
        self.logger = logger
    }

    package func add(to router: Router<some PeerContext>) {
        router.get("server") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.describe(request, context.peer)
            }
        }
    }

    private func describe(_ request: Request, _ peer: NetworkAddress?) async throws(HTTPRefusal) -> Response {
        try await self.gate.admit(request, from: peer, within: Rates.server)
        var facts = self.configuration.server
        do throws(StoreError) {
            facts.registration = try await self.hint.mode(at: self.clock())
        } catch {
            self.logger.warning("request not answered", [.error: "\(error)"])
            throw .internalError
        }
        return .answer(facts.json, headers: [.cacheControl: "max-age=60"])
    }
}
