package import Bus
package import ClusterContract
import Contract
package import HTTPAccess
package import Hummingbird
package import Logging
import ServerCrypto
package import Store
import Telemetry

/// `POST /live/{conversationId}/look`: whose conversation a link names, before anybody connects (contract §14.6).
package struct LookRoutes: Sendable {
    private let pool: PostgresPool
    private let gate: AddressGate
    private let logger: Logger
    private let errors = ErrorMetrics()

    package init(
        pool: PostgresPool, bus: any Bus, rates: RateTable, trustedProxies: TrustedProxies, logger: Logger
    ) {
        self.pool = pool
        self.gate = AddressGate(bus: bus, rates: rates, trustedProxies: trustedProxies)
        self.logger = logger
    }

    package func add(to router: Router<ClientContext>) {
        router.post("live/{conversationId}/look") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.look(context.parameters.get("conversationId"), request, context.peer)
            }
        }
    }

    private func look(
        _ id: String?, _ request: Request, _ peer: NetworkAddress?
    ) async throws(HTTPRefusal) -> Response {
        try await self.gate.admit(request, from: peer, within: Rates.liveLooks)
        guard let id = id.flatMap({ ConversationID($0) }) else { throw .noSuchConversation }
        let body: LiveOperations.Look = try await JSONBody.read(of: request, bytesMax: ConversationLimits.lookBytesMax)
        let found: LiveTable.Look?
        do throws(StoreError) {
            found = try await self.pool.query(LiveTable.look(id))
        } catch {
            self.logger.warning("request not answered", [.error: "\(error)"])
            throw .internalError
        }
        // A proof is hashed and compared whether there is a conversation or not: both take the same time.
        let verifier = SHA256.hash(body.linkProof.bytes)
        guard constantTimeEqual(verifier, found?.linkVerifier ?? body.linkProof), let found else {
            throw .noSuchConversation
        }
        return .answer(
            LiveOperations.answer(
                conversation: id, signPublicKey: found.signPublicKey, encPublicKey: found.encPublicKey,
                nonce: found.nonce, ciphertext: found.ciphertext, state: found.state,
                isTranscribed: found.isTranscribed))
    }
}
