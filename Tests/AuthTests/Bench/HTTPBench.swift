import AuthCore
import Bus
import Contract
import Foundation
import HTTPAccess
import Hummingbird
import Logging
import OperatorsCore
import Telemetry

/// Routes without a listener.
struct HTTPBench {
    private let responder: any HTTPResponder<Context>

    static let operatorToken = "token-of-the-operators"
    static let viewerToken = "token-of-the-viewers"
    /// Every request comes from here; it is trusted to name the client.
    static let balancer = "10.0.0.1"

    /// The operators' routes and pages.
    init(admin bench: AuthBench, operatorToken: String = Self.operatorToken) throws {
        let service = OperatorService(
            pool: bench.pool, banning: bench.bans, keys: bench.bus, rates: RateTable(), clock: bench.clock, logger: quiet)
        try self.init(service: service, bench, operatorToken: operatorToken)
    }

    init(service: OperatorService, _ bench: AuthBench, operatorToken: String = Self.operatorToken) throws {
        let router = Router(context: Context.self)
        let tokens = try AdminTokens(operator: Secret(operatorToken), viewer: Secret(Self.viewerToken))
        AdminRoutes(service: service, tokens: tokens).add(to: router)
        ConsoleRoutes(service: service, sessions: ConsoleSessions(table: ConsoleSessionTable(bench.pool), tokens: tokens))
            .add(to: router)
        self.responder = router.buildResponder()
    }

    /// The public routes.
    init(_ bench: AuthBench) {
        let router = Router(context: Context.self)
        PublicRoutes(
            directory: bench.directory, identities: IdentityTable(bench.pool), backups: ContactBackupTable(bench.pool),
            limiter: RateLimiter(bus: bench.bus, rates: RateTable()),
            unknownTokens: UnknownTokens(
                bus: bench.bus, rates: RateTable(), trustedProxies: [NetworkAddress(Self.balancer)!]),
            clock: bench.clock, logger: quiet
        ).add(to: router)
        self.responder = router.buildResponder()
    }

    struct Answer {
        var status: Int
        var headers: HTTPFields
        var text: String

        var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(self.text.utf8))) as? [String: Any] ?? [:]
        }

        /// Whether it is this error, in the body that contract §1 asks for.
        func `is`(_ status: Int, _ code: ErrorCode) -> Bool {
            self.status == status && self.json["error"] as? String == code.rawValue && self.json["message"] is String
        }
    }

    func get(_ path: String, token: String) async throws -> Answer {
        try await self.send(.get, path, authorization: "Bearer \(token)")
    }

    func put(_ body: String, token: String, ifMatch: String? = nil) async throws -> Answer {
        try await self.send(.put, "/backup/contacts", authorization: "Bearer \(token)", ifMatch: ifMatch, body: body)
    }

    /// As an operator.
    func post(_ path: String, _ body: String, token: String = Self.operatorToken) async throws -> Answer {
        try await self.send(.post, path, authorization: "Bearer \(token)", body: body)
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, authorization: String?, ifMatch: String? = nil,
        headers: HTTPFields = [:], host: String = "localhost", body: String = ""
    ) async throws -> Answer {
        var head = HTTPRequest(method: method, scheme: "http", authority: host, path: path)
        head.headerFields = headers
        head.headerFields[.authorization] = authorization
        head.headerFields[.ifMatch] = ifMatch
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

    struct Source: RequestContextSource {
        let logger = quiet
    }

    struct Context: PeerContext {
        typealias Source = HTTPBench.Source
        var coreContext: CoreRequestContextStorage
        let peer = NetworkAddress(HTTPBench.balancer)
        init(source: Source) { self.coreContext = CoreRequestContextStorage(source: source) }
    }

    private final class Collector: ResponseBodyWriter {
        private var buffer = ByteBuffer()
        var text: String { String(buffer: self.buffer) }
        func write(_ buffer: ByteBuffer) { self.buffer.writeImmutableBuffer(buffer) }
        func finish(_ trailingHeaders: HTTPFields?) {}
    }
}
