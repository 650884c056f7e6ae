import Dispatch
import NIOCore
import NIOHTTP1
import WhisperClient
import WhisperCore

/// The rules by which a daemon is asked over HTTP, and its paths beside `/rpc` and `/events`. The rest is one server for all doors.
protocol HTTPDoor: Sendable {
    /// Headers of every answer.
    var headers: HTTPHeaders { get }
    /// How long a connection waits for its next request; `nil` if an answer ends it.
    var idle: TimeAmount? { get }
    /// How long a reader of events waits for the one before it to be gone.
    var handOver: DispatchTimeInterval { get }
    /// How long things that a reader of events holds stay open when its stream has gone.
    var grace: Duration { get }

    /// Whether the other end of a new connection may say anything.
    func admits(_ channel: any Channel) -> Bool
    /// - Returns: why a request is refused, by its header.
    func refusal(of head: HTTPRequestHead) -> HTTPResponseStatus?
    /// Answers a request to another path than `/rpc` and `/events`.
    func answer(_ head: HTTPRequestHead, _ body: [UInt8], from core: Core) async -> DoorAnswer
    /// Whether events of this consumer may be read here.
    func allows(consumer: String) -> Bool
    /// Headers of a stream of events, beside those of every answer.
    func streamHeaders(of head: HTTPRequestHead) -> HTTPHeaders
    /// A stream of events has begun.
    func streamBegan()
    /// A stream of events has gone.
    func streamEnded(for consumer: String, of core: Core)
}

struct DoorAnswer: Sendable {
    static let json = "application/json"
    static let bytes = "application/octet-stream"

    var status: HTTPResponseStatus
    var body: [UInt8] = []
    var type = Self.json
    /// Headers of this answer alone.
    var headers: HTTPHeaders = [:]

    init(_ status: HTTPResponseStatus, _ body: [UInt8] = []) {
        (self.status, self.body) = (status, body)
    }
}

/// The door of programs that know a token.
struct BearerDoor: HTTPDoor {
    let token: BearerToken

    let headers: HTTPHeaders = ["cache-control": "no-store"]
    var idle: TimeAmount? { nil }
    var handOver: DispatchTimeInterval { CoreLimits.handOver }

    private static let methods: [String: HTTPMethod] = ["/rpc": .POST, "/events": .GET, "/check": .GET]

    func admits(_ channel: any Channel) -> Bool { true }

    func refusal(of head: HTTPRequestHead) -> HTTPResponseStatus? {
        let tokens = head.headers["authorization"]
        guard tokens.count == 1, self.token.isShown(in: tokens[0]) else { return .unauthorized }
        guard let method = Self.methods[head.path] else { return .notFound }
        return head.method == method ? nil : .methodNotAllowed
    }

    func answer(_ head: HTTPRequestHead, _ body: [UInt8], from core: Core) async -> DoorAnswer {
        let check = await core.check()
        return DoorAnswer(check.isOnline ? .ok : .serviceUnavailable, check.status)
    }

    func streamEnded(for consumer: String, of core: Core) {}
}

extension HTTPDoor {
    var grace: Duration { .zero }
    func allows(consumer: String) -> Bool { true }
    func streamHeaders(of head: HTTPRequestHead) -> HTTPHeaders { [:] }
    func streamBegan() {}
}

extension HTTPRequestHead {
    var path: String { String(self.uri.prefix { $0 != "?" }) }
}
