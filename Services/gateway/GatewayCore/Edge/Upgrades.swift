import ClusterContract
import Contract
import NIOCore
import ServerCrypto
import Telemetry

/// HTTP requests of clients: each becomes a WebSocket, or gets one answer.
final class Upgrades {
    private let rates: RateGate
    private let metrics: GatewayMetrics
    private let trustedProxies: TrustedProxies
    private let openConnectionsMax: Int
    /// WebSockets of each client address.
    private var openConnections: [ClientAddress: Int] = [:]

    /// - Parameter openConnectionsMax: WebSockets of one address.
    init(rates: RateGate, metrics: GatewayMetrics, trustedProxies: TrustedProxies, openConnectionsMax: Int) {
        self.rates = rates
        self.metrics = metrics
        self.trustedProxies = trustedProxies
        self.openConnectionsMax = openConnectionsMax
    }

    /// Answers the request. If the connection becomes a WebSocket its handler is told (`BecomesWebSocket`).
    func requested(
        _ request: UpgradeRequest, by connection: Connection, isReady: Bool, _ host: isolated some EdgeHost
    ) {
        if let answer = HTTPAnswer(to: request, isReady: isReady) { return self.end(connection, with: answer, host) }
        guard case .webSocket(let key) = request.purpose, self.learnsAddress(of: connection, from: request) else {
            return
        }
        self.rates.admit(Rates.connections, connection, host) {
            self.upgrade($0, key: key, host)
        } refused: {
            self.metrics.errors.answered(.rateLimited)
            self.end($0, with: HTTPAnswer(.tooManyConnections(retryAfter: $1)), host)
        }
    }

    /// The proxies in front have named the client.
    /// - Returns: false for a socket without a peer address: it is gone already.
    func learnsAddress(of connection: Connection, from request: UpgradeRequest) -> Bool {
        guard let peer = connection.channel.remoteAddress.flatMap({ NetworkAddress($0) }) else { return false }
        let client = self.trustedProxies.client(peer: peer, forwardedFor: request.headers["x-forwarded-for"])
        connection.comes(from: client.network)
        return true
    }

    private func upgrade(_ connection: Connection, key: String, _ host: isolated some EdgeHost) {
        connection.becomesWebSocket(at: host.now)
        self.metrics.connections.increment()
        let open = self.openConnections[connection.address, default: 0] + 1
        self.openConnections[connection.address] = open
        let accept = String(
            decoding: Base64.encode(sha1(Array("\(key)258EAFA5-E914-47DA-95CA-C5AB0DC85B11".utf8))), as: UTF8.self)
        host.write(to: connection) {
            $0.writeString(
                "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                    + "Sec-WebSocket-Accept: \(accept)\r\n\r\n")
        }
        if open > self.openConnectionsMax { host.close(connection, .tooManyConnections) }
        connection.channel.pipeline.fireUserInboundEventTriggered(BecomesWebSocket())
    }

    /// Answers a plain HTTP request, and ends the connection.
    /// - Parameter linger: time that the client has to read the answer.
    func end(
        _ connection: Connection, with answer: HTTPAnswer, lingering linger: Duration = GatewayLimits.closeLinger,
        _ host: isolated some EdgeHost
    ) {
        connection.beginsClosing(at: host.now, lingering: linger)
        let channel = connection.channel
        var buffer = channel.allocator.buffer(capacity: 256)
        answer.write(to: &buffer)
        channel.writeAndFlush(buffer).whenComplete { _ in channel.close(promise: nil) }
    }

    /// The connection's socket is gone.
    func leave(_ connection: Connection) {
        guard connection.isCounted else { return }
        self.metrics.connections.decrement()
        let open = self.openConnections[connection.address, default: 1] - 1
        self.openConnections[connection.address] = open > 0 ? open : nil
    }
}

extension Refusal {
    /// - Parameter wait: milliseconds.
    fileprivate static func tooManyConnections(retryAfter wait: Int64) -> Refusal {
        Refusal(.rateLimited, "too many new connections from this address", retryAfterMilliseconds: wait)
    }
}
