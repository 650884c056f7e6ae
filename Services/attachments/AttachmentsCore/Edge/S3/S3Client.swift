import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization

/// An answer of the store.
struct S3Answer: Sendable {
    var status: Int
    var headers: HTTPHeaders
    var body: [UInt8]
}

/// HTTP/1.1 to one server, over connections that are kept for the next request. All of it on one event loop.
final class S3Client: Sendable {
    private let address: S3Address
    private let eventLoop: any EventLoop
    private let tls: NIOSSLContext?
    private let idle = Mutex<[any Channel]>([])

    init(_ address: S3Address, tls: NIOSSLContext?, eventLoop: any EventLoop) {
        self.address = address
        self.tls = tls
        self.eventLoop = eventLoop
    }

    /// One request, one answer.
    /// - Throws: `.unavailable`; it may have been served.
    func send(_ head: HTTPRequestHead, body: [UInt8]) async throws(ObjectStoreError) -> S3Answer {
        do {
            let channel = try await self.connection()
            let promise = channel.eventLoop.makePromise(of: S3Answer.self)
            let timer = channel.eventLoop.scheduleTask(in: TimeAmount(AttachmentsLimits.s3Timeout)) {
                channel.close(promise: nil)
            }
            channel.writeAndFlush(S3Question(head: head, body: body, promise: promise), promise: nil)
            defer { timer.cancel() }
            let answer = try await promise.futureResult.get()
            if answer.headers["connection"].contains(where: { $0.lowercased() == "close" }) {
                channel.close(promise: nil)
            } else {
                self.keep(channel)
            }
            return answer
        } catch {
            throw .unavailable
        }
    }

    func close() {
        for channel in self.idle.withLock({ idle in
            defer { idle = [] }
            return idle
        }) { channel.close(promise: nil) }
    }

    private func connection() async throws -> any Channel {
        while let channel = self.idle.withLock({ $0.popLast() }) {
            if channel.isActive { return channel }
        }
        let (tls, address) = (self.tls, self.address)
        return try await ClientBootstrap(group: self.eventLoop)
            .connectTimeout(.seconds(5))
            .channelOption(.socketOption(.so_keepalive), value: 1)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        try pipeline.addHandler(NIOSSLClientHandler(context: tls, serverHostname: address.serverName))
                    }
                    try pipeline.addHTTPClientHandlers(leftOverBytesStrategy: .dropBytes)
                    try pipeline.addHandler(S3ExchangeHandler())
                }
            }
            .connect(host: address.hostName, port: address.port).get()
    }

    private func keep(_ channel: any Channel) {
        let isKept = self.idle.withLock { idle in
            guard idle.count < AttachmentsLimits.s3IdleConnectionsMax else { return false }
            idle.append(channel)
            return true
        }
        if !isKept { channel.close(promise: nil) }
    }
}

extension S3Address {
    /// The name that the certificate must have; nil for an IP address, which is compared with the connection's own.
    fileprivate var serverName: String? {
        if (try? SocketAddress(ipAddress: self.hostName, port: self.port)) != nil { return nil }
        return self.style == .virtual ? "\(self.bucket).\(self.hostName)" : self.hostName
    }
}

private struct S3Question: Sendable {
    var head: HTTPRequestHead
    var body: [UInt8]
    var promise: EventLoopPromise<S3Answer>
}

/// One question at a time: writes it, gathers the answer, and keeps the question's promise in every case.
private final class S3ExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = S3Question
    typealias OutboundOut = HTTPClientRequestPart

    private struct TooLong: Error {}

    private var promise: EventLoopPromise<S3Answer>?
    private var answer: S3Answer?

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let question = self.unwrapOutboundIn(data)
        guard context.channel.isActive, self.promise == nil else {
            question.promise.fail(ChannelError.ioOnClosedChannel)
            return
        }
        self.promise = question.promise
        context.write(self.wrapOutboundOut(.head(question.head)), promise: nil)
        if !question.body.isEmpty {
            context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: question.body)))), promise: nil)
        }
        context.write(self.wrapOutboundOut(.end(nil)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            guard head.status.code >= 200 else { return }  // 100 Continue.
            self.answer = S3Answer(status: Int(head.status.code), headers: head.headers, body: [])
        case .body(let buffer):
            guard let answer, answer.body.count + buffer.readableBytes <= AttachmentsLimits.s3AnswerBytesMax else {
                self.fail(TooLong(), context)
                return
            }
            self.answer?.body += buffer.readableBytesView
        case .end:
            guard let answer else { return }
            self.answer = nil
            self.promise?.succeed(answer)
            self.promise = nil
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.promise?.fail(ChannelError.eof)
        self.promise = nil
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { self.fail(error, context) }

    private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
        self.promise?.fail(error)
        self.promise = nil
        context.close(promise: nil)
    }
}
