import LocalStack
import Logging
import NIOCore
import NIOHPACK
import NIOHTTP2
import NIOPosix
import NIOSSL
import PushCore
import PushPeers

/// The cost of a push-sized request over one HTTP/2 connection with TLS: with this project's client over libnghttp2,
/// and with swift-nio-http2. The peer of the push tests answers on a thread of its own, which is not counted.
struct RequestCost {
    /// Microseconds of processor time on the thread of the client's event loop.
    var ours = Double.infinity
    var nio = Double.infinity
    var unanswered = 0

    /// Requests under way at a time.
    private static let lanes = 256
    /// Streams that the peer allows.
    private static let streamsMax: UInt32 = 1_000

    private let identity: PeerIdentity

    init() throws { self.identity = try PeerIdentity(folder: try TemporaryFolder(named: "codecs").path) }

    /// Measures both in turn, and keeps the least.
    mutating func measure(_ count: Int) async throws {
        let tls = try ClientTLS.context(authorities: self.identity.certificate)
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        self.ours = min(
            self.ours,
            try await self.cost(count) { peer in
                HTTP2Client(
                    origin: HTTP2Client.Origin(host: HTTP2Peer.host, port: peer.port), tls: tls, eventLoop: loop,
                    logger: Logger(label: "codecs") { _ in SwiftLogNoOpLogHandler() })
            })
        self.nio = min(
            self.nio,
            try await self.cost(count) { peer in try await LibraryClient(connectingTo: peer, tls, on: loop) })
    }

    private mutating func cost<Client: RequestSender>(
        _ count: Int, _ connect: (HTTP2Peer) async throws -> Client
    ) async throws -> Double {
        let peer = try await HTTP2Peer.start(self.identity, streamsMax: Self.streamsMax)
        let client = try await connect(peer)
        self.unanswered += await self.ask(client, count / 10)
        let start = await client.threadTime()
        self.unanswered += await self.ask(client, count)
        let spent = await client.threadTime() - start
        await client.end()
        await peer.stop()
        return spent / Double(count / Self.lanes * Self.lanes)
    }

    /// - Returns: how many were not answered.
    private func ask(_ client: some RequestSender, _ count: Int) async -> Int {
        await withTaskGroup(of: Int.self) { group in
            for _ in 0..<Self.lanes { group.addTask { await client.ask(count / Self.lanes) } }
            return await group.reduce(0, +)
        }
    }
}

/// As large as a wake-up by APNs.
private let request = HTTP2Request(
    path: "/3/device/" + String(repeating: "ab", count: 32),
    headers: [
        ("authorization", "bearer " + String(repeating: "x", count: 200)), ("apns-topic", "org.whisper.app"),
        ("apns-push-type", "alert"), ("apns-priority", "10"), ("apns-expiration", "1700000000"),
        ("apns-collapse-id", "mail"),
    ], body: [UInt8](repeating: UInt8(ascii: "x"), count: 200))

/// A client of one origin that lives on the event loop of its connection.
private protocol RequestSender: Actor {
    func isAnswered() async -> Bool
    func end() async
}

extension RequestSender {
    /// Asks so often, each time after the answer to the one before.
    /// - Returns: how many were not answered.
    fileprivate func ask(_ count: Int) async -> Int {
        var unanswered = 0
        for _ in 0..<count where await !self.isAnswered() { unanswered += 1 }
        return unanswered
    }

    /// Microseconds that the event loop's thread has worked so far.
    fileprivate func threadTime() -> Double { threadMicroseconds() }
}

extension HTTP2Client: RequestSender {
    fileprivate func isAnswered() async -> Bool {
        (try? await self.send(request, within: .seconds(30)))?.status == 200
    }

    fileprivate func end() { self.close() }
}

/// The library as its manual uses it: a channel for each request. It has neither deadlines nor a second connection.
private actor LibraryClient {
    private nonisolated let eventLoop: any EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { self.eventLoop.executor.asUnownedSerialExecutor() }
    private let channel: any Channel
    private let streams: NIOHTTP2Handler.StreamMultiplexer
    private let authority: String

    init(connectingTo peer: HTTP2Peer, _ tls: NIOSSLContext, on eventLoop: any EventLoop) async throws {
        (self.channel, self.streams) = try await ClientBootstrap(group: eventLoop)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        NIOSSLClientHandler(context: tls, serverHostname: HTTP2Peer.host))
                }
            }
            .connect(host: HTTP2Peer.host, port: peer.port)
            .flatMap { channel in
                channel.configureHTTP2Pipeline(
                    mode: .client, connectionConfiguration: .init(), streamConfiguration: .init()
                ) {
                    $0.eventLoop.makeSucceededVoidFuture()
                }.map { (channel, $0) }
            }.get()
        self.eventLoop = eventLoop
        self.authority = "\(HTTP2Peer.host):\(peer.port)"
    }
}

extension LibraryClient: RequestSender {
    fileprivate func isAnswered() async -> Bool {
        await withCheckedContinuation { done in
            let exchange = LibraryExchange(self.authority) { done.resume(returning: $0 == "200") }
            let bound = NIOLoopBound(exchange, eventLoop: self.eventLoop)
            self.streams.createStreamChannel { stream in
                stream.eventLoop.makeCompletedFuture { try stream.pipeline.syncOperations.addHandler(bound.value) }
            }.whenFailure { _ in bound.value.finish(nil) }
        }
    }

    fileprivate func end() async { try? await self.channel.close() }
}

/// One request on its stream.
private final class LibraryExchange: ChannelInboundHandler {
    typealias InboundIn = HTTP2Frame.FramePayload
    typealias OutboundOut = HTTP2Frame.FramePayload

    private let authority: String
    private var status: String?
    private var answered: ((String?) -> Void)?

    /// - Parameter answered: called once, with `nil` if there was no answer.
    init(_ authority: String, _ answered: @escaping (String?) -> Void) {
        self.authority = authority
        self.answered = answered
    }

    func finish(_ status: String?) {
        self.answered?(status)
        self.answered = nil
    }

    func channelActive(context: ChannelHandlerContext) {
        var headers = HPACKHeaders([(":method", "POST"), (":scheme", "https"), (":authority", self.authority)])
        headers.add(name: ":path", value: request.path, indexing: .nonIndexable)
        for (name, value) in request.headers {
            headers.add(name: name, value: value, indexing: name == "authorization" ? .nonIndexable : .indexable)
        }
        headers.add(name: "content-length", value: "\(request.body.count)")
        context.write(self.wrapOutboundOut(.headers(.init(headers: headers))), promise: nil)
        let body = context.channel.allocator.buffer(bytes: request.body)
        context.writeAndFlush(
            self.wrapOutboundOut(.data(.init(data: .byteBuffer(body), endStream: true))), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .headers(let headers):
            self.status = headers.headers.first(name: ":status")
            if headers.endStream { self.finish(self.status) }
        case .data(let data): if data.endStream { self.finish(self.status) }
        default: break
        }
    }

    func channelInactive(context: ChannelHandlerContext) { self.finish(nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
