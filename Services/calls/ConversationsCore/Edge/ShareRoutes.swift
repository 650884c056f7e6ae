package import Bus
package import ClusterContract
import Contract
package import HTTPAccess
package import Hummingbird
package import Logging
import ServerCrypto
package import Store
import Telemetry

/// `POST /live/shares/{shareId}`: a transcript, for whoever has a link to it (contract §14.11).
package struct ShareRoutes: Sendable {
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
        router.post("live/shares/{shareId}") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.read(context.parameters.get("shareId"), request, context.peer)
            }
        }
    }

    private func read(
        _ id: String?, _ request: Request, _ peer: NetworkAddress?
    ) async throws(HTTPRefusal) -> Response {
        try await self.gate.admit(request, from: peer, within: Rates.liveShares)
        guard let id = id.flatMap({ UUIDText($0) }), id.upperCase == 0 else { throw .noSuchShare }
        let body: TranscriptOperations.Read = try await JSONBody.read(
            of: request, bytesMax: ConversationLimits.shareReadBytesMax)
        let found = try await self.stored { () async throws(StoreError) in
            try await self.pool.query(TranscriptShareTable.find(id, at: .now))
        }
        // A proof is hashed and compared whether there is a share or not: both take the same time.
        let verifier = SHA256.hash(body.shareProof.bytes)
        guard constantTimeEqual(verifier, found?.verifier ?? body.shareProof), let found else { throw .noSuchShare }
        var pipeline = Pipeline()
        let head = pipeline.add(TranscriptTable.head(of: found.content, at: .now))
        let lines = pipeline.add(
            TranscriptTable.lines(
                of: found.content, after: body.after, limit: body.limit,
                bytesMax: ConversationLimits.linesBytesMax - found.shared.bytes))
        let reading = pipeline
        let page = try await self.stored { () async throws(StoreError) in
            let answers = try await self.pool.pipeline(reading)
            let read = try answers[lines]
            return try answers[head].map { $0.page(of: read) }
        }
        guard let page else { throw .noSuchShare }
        return .answer(found.shared.json(with: page))
    }

    private func stored<Answer>(
        _ body: () async throws(StoreError) -> Answer
    ) async throws(HTTPRefusal) -> Answer {
        do throws(StoreError) {
            return try await body()
        } catch {
            self.logger.warning("request not answered", [.error: "\(error)"])
            throw .internalError
        }
    }
}

extension HTTPRefusal {
    /// The same whether it is unknown, expired or deleted, and for a wrong proof.
    fileprivate static let noSuchShare = HTTPRefusal(.notFound, "there is no such share")
}
