import AuthTestKit
import ClusterContract
import Contract
import HTTPAccess
import Hummingbird
import OperatorsCore
import Telemetry

extension HTTPBench {
    static let operatorToken = "token-of-the-operators"
    static let viewerToken = "token-of-the-viewers"

    /// The operators' routes and pages.
    init(admin bench: AuthBench, operatorToken: String = Self.operatorToken) throws {
        let service = OperatorService(
            pool: bench.pool, identities: bench.identities, banning: bench.bans, rateClassing: bench.rateClassing,
            keys: bench.bus, rates: RateTable(),
            clock: bench.clock,
            logger: quiet)
        try self.init(service: service, bench, operatorToken: operatorToken)
    }

    init(service: OperatorService, _ bench: AuthBench, operatorToken: String = Self.operatorToken) throws {
        let tokens = try AdminTokens(operator: Secret(operatorToken), viewer: Secret(Self.viewerToken))
        self.init { router in
            AdminRoutes(service: service, tokens: tokens).add(to: router)
            ConsoleRoutes(
                service: service, sessions: ConsoleSessions(table: ConsoleSessionTable(bench.pool), tokens: tokens)
            )
            .add(to: router)
        }
    }

    /// As an operator.
    func post(_ path: String, _ body: String, token: String = Self.operatorToken) async throws -> Answer {
        try await self.send(.post, path, authorization: "Bearer \(token)", body: body)
    }
}
