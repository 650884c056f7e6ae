package import Bus
package import Contract
package import Hummingbird
package import Logging
package import Store
import Telemetry

/// Lets operators in, on the ops listener of a service other than auth (contract §10). Every call is recorded in auth's audit
/// log, through the function that auth grants for it; what cannot be recorded is not answered.
package struct AdminGate: Sendable {
    private let tokens: AdminTokens
    private let pool: PostgresPool
    private let keys: any KeyBus
    private let rates: RateTable
    private let logger: Logger

    /// - Parameter pool: of a role that auth has granted `auth.record_event` to.
    package init(tokens: AdminTokens, pool: PostgresPool, keys: any KeyBus, rates: RateTable, logger: Logger) {
        self.tokens = tokens
        self.pool = pool
        self.keys = keys
        self.rates = rates
        self.logger = logger
    }

    /// What a call came to.
    package struct Outcome: Sendable {
        package var json: [UInt8]
        /// For the record: what was done, in a few words.
        package var note: String?

        package init(json: [UInt8], note: String? = nil) {
            self.json = json
            self.note = note
        }
    }

    /// Does what an operator asks.
    /// - Parameters:
    ///   - action: the operation's name, as it is recorded.
    ///   - least: the role that it takes.
    package func serve(
        _ action: String, _ least: AdminRole, _ request: Request,
        _ body: () async throws(HTTPRefusal) -> Outcome
    ) async throws(HTTPRefusal) -> Response {
        let role = BearerToken.bytes(in: request.headers).flatMap { self.tokens.role(of: $0) }
        let actor =
            switch role {
            case .operator: "operator"
            case .viewer: "viewer"
            case nil: "nobody"
            }
        try await self.admit(actor)
        do throws(HTTPRefusal) {
            guard let role else { throw .noAdminToken }
            guard role >= least else { throw .roleTooLow }
            let outcome = try await body()
            try await self.record(actor, action, result: "ok", note: outcome.note)
            return .answer(outcome.json)
        } catch {
            try await self.record(actor, action, result: error.code.rawValue, note: nil)
            throw error
        }
    }

    /// Without Redis nobody can be counted, and nobody is let in.
    private func admit(_ actor: String) async throws(HTTPRefusal) {
        let wait: Int64?
        do throws(BusError) {
            wait = try await self.keys.admit(Keyspace.rateLimit(Rates.admin, actor), self.rates.allowance(of: Rates.admin))
        } catch {
            self.logger.warning("admin call not counted", [.error: "\(error)"])
            throw .internalError
        }
        if let wait { throw .tooMany(retryAfterMilliseconds: wait) }
    }

    private func record(_ actor: String, _ action: String, result: String, note: String?) async throws(HTTPRefusal) {
        do throws(StoreError) {
            _ = try await self.pool.query("SELECT auth.record_event(\(actor), \(action), \(result), \(note))")
        } catch {
            self.logger.warning("admin call not recorded", [.error: "\(error)"])
            throw .internalError
        }
    }
}
