import Contract
import NIOCore
import Telemetry

/// The gateway's answer to a request that does not become a WebSocket. The connection ends with it.
struct HTTPAnswer {
    private var status: String
    private var body: [UInt8]
    private var headers = ""
    /// The client asked for the head alone.
    private var isHead = false

    /// - Parameter isReady: whether a load balancer should send clients here.
    /// - Returns: `nil` for a request that may become a WebSocket, and for one that takes other services to answer.
    init?(to request: UpgradeRequest, isReady: Bool) {
        switch request.purpose {
        case .webSocket, .mail: return nil
        case .health: self.init("200 OK", HealthOperations.body("alive"))
        case .ready where isReady: self.init("200 OK", HealthOperations.body("ready"))
        case .ready: self.init("503 Service Unavailable", HealthOperations.body("unready"))
        case .badParameter: self.init(Self.parametersWanted)
        case .badUpgrade: self.init("400 Bad Request", Self.upgradeWanted)
        case .otherVersion:
            self.init(
                "426 Upgrade Required", Self.upgradeWanted,
                headers: "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n")
        case .unknown:
            self.init("404 Not Found", HTTPErrorBody.json(.notFound, "no such resource"))
            self.isHead = request.method == "HEAD"
        }
    }

    init(to reason: UpgradeRequest.Malformed) {
        switch reason {
        case .malformed: self.init("400 Bad Request", HTTPErrorBody.json(.invalidPayload, "not an HTTP request"))
        case .tooLong:
            self.init(
                "431 Request Header Fields Too Large",
                HTTPErrorBody.json(.invalidPayload, "the request's head is too long"))
        }
    }

    /// Mail is a person's: no cache keeps it.
    init(mail: [UInt8]) { self.init("200 OK", mail, headers: "Cache-Control: no-store\r\n") }

    init(_ refusal: Refusal) {
        self.init(
            "\(refusal.code.httpStatus) \(refusal.code.rawValue)", HTTPErrorBody.json(refusal.code, refusal.message),
            headers: refusal.retryAfterMilliseconds.map { "Retry-After: \(($0 + 999) / 1_000)\r\n" } ?? "")
    }

    private init(_ status: String, _ body: [UInt8], headers: String = "") {
        self.status = status
        self.body = body
        self.headers = headers
    }

    private static let parametersWanted = Refusal(
        .invalidPayload,
        "limit is an integer of \(Limits.mailPeekMessages), and bytes one of \(Limits.mailPeekBytes)")

    private static let upgradeWanted = HTTPErrorBody.json(
        .invalidPayload, "/ws requires a WebSocket upgrade, version 13")

    func write(to buffer: inout ByteBuffer) {
        buffer.writeString(
            "HTTP/1.1 \(self.status)\r\nContent-Type: application/json\r\nContent-Length: \(self.body.count)\r\n"
                + "\(self.headers)Connection: close\r\n\r\n")
        if !self.isHead { buffer.writeBytes(self.body) }
    }
}
