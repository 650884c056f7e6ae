package import AuthCore
import Bus
package import ClusterContract
package import Contract
import Foundation
import HTTPAccess
package import Hummingbird
package import Logging

/// Routes without a listener.
package struct HTTPBench {
    private let responder: any HTTPResponder<Context>

    /// Every request comes from here; it is trusted to name the client.
    package static let balancer = "10.0.0.1"

    /// - Parameter add: adds the routes.
    package init(routes add: (Router<Context>) -> Void) {
        let router = Router(context: Context.self)
        add(router)
        self.responder = router.buildResponder()
    }

    /// The public routes.
    /// - Parameters:
    ///   - rates: of identities.
    ///   - steadyNow: what the rate of unknown tokens is counted by.
    package init(
        _ bench: AuthBench, rates: RateTable = RateTable(), configuration: AuthConfiguration = AuthConfiguration(),
        steadyNow: @escaping @Sendable () -> ContinuousClock.Instant = { .now }
    ) {
        self.init { router in
            PublicRoutes(
                directory: bench.directory, identities: IdentityTable(bench.pool),
                backups: ContactBackupTable(bench.pool), held: HeldRecords(bench.pool),
                profiles: ProfileService(
                    pool: bench.pool, bus: bench.bus, configuration: configuration, clock: bench.clock),
                inviting: Inviting(
                    pool: bench.pool, operators: bench.operators, bus: bench.bus, configuration: configuration,
                    clock: bench.clock),
                limiter: RateLimiter(bus: bench.bus, rates: rates),
                unknownTokens: UnknownTokens(
                    bus: bench.bus, rates: RateTable(), trustedProxies: [NetworkAddress(Self.balancer)!],
                    steadyNow: steadyNow),
                configuration: configuration, clock: bench.clock, logger: quiet
            ).add(to: router)
        }
    }

    package struct Answer {
        package var status: Int
        package var headers: HTTPFields
        package var text: String

        package var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(self.text.utf8))) as? [String: Any] ?? [:]
        }

        /// Whether it is this error, in the body that contract §1 asks for.
        package func `is`(_ status: Int, _ code: ErrorCode) -> Bool {
            self.status == status && self.json["error"] as? String == code.rawValue && self.json["message"] is String
        }
    }

    package func get(_ path: String, token: String) async throws -> Answer {
        try await self.send(.get, path, authorization: "Bearer \(token)")
    }

    package func send(
        _ method: HTTPRequest.Method, _ path: String, authorization: String?, ifMatch: String? = nil,
        headers: HTTPFields = [:], host: String = "localhost", body: String = ""
    ) async throws -> Answer {
        var head = HTTPRequest(method: method, scheme: "http", authority: host, path: path)
        head.headerFields = headers
        head.headerFields[.authorization] = authorization
        if let ifMatch { head.headerFields[.ifMatch] = ifMatch }
        let context = Context(source: Source())
        let request = Request(head: head, body: RequestBody(buffer: ByteBuffer(string: body)))
        let response: Response
        do {
            response = try await self.responder.respond(to: request, context: context)
        } catch let error as any HTTPResponseError {
            response = try error.response(from: request, context: context)
        }
        let writer = Collector()
        try await response.body.write(writer)
        return Answer(status: response.status.code, headers: response.headers, text: writer.text)
    }

    package struct Source: RequestContextSource {
        package let logger = quiet
    }

    package struct Context: PeerContext {
        package typealias Source = HTTPBench.Source
        package var coreContext: CoreRequestContextStorage
        package let peer = NetworkAddress(HTTPBench.balancer)
        package init(source: Source) { self.coreContext = CoreRequestContextStorage(source: source) }
    }

    private final class Collector: ResponseBodyWriter {
        private var buffer = ByteBuffer()
        var text: String { String(buffer: self.buffer) }
        func write(_ buffer: ByteBuffer) { self.buffer.writeImmutableBuffer(buffer) }
        func finish(_ trailingHeaders: HTTPFields?) {}
    }
}
