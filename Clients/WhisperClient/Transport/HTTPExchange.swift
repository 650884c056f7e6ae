import NIOCore
import NIOHTTP1

/// One request, one answer, and the connection is gone.
final class HTTPExchange: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let request: HTTPRequestHead
    private let content: [UInt8]
    private let answer: EventLoopPromise<HTTPAnswer>
    private var status = 0
    private var entityTag: String?
    private var body: [UInt8] = []
    private var overdue: Scheduled<Void>?

    init(request: HTTPRequestHead, content: [UInt8], answer: EventLoopPromise<HTTPAnswer>) {
        self.request = request
        self.content = content
        self.answer = answer
    }

    func channelActive(context: ChannelHandlerContext) {
        self.wait(context)
        context.write(self.wrapOutboundOut(.head(self.request)), promise: nil)
        if !self.content.isEmpty {
            context.write(self.wrapOutboundOut(.body(.byteBuffer(ByteBuffer(bytes: self.content)))), promise: nil)
        }
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            self.status = Int(head.status.code)
            self.entityTag = head.headers.first(name: "etag")
        case .body(let part):
            let portions = self.body.count / LinkLimits.portionBytes
            self.body += part.readableBytesView
            if self.body.count / LinkLimits.portionBytes > portions { self.wait(context) }
            if self.body.count > LinkLimits.httpBodyBytesMax {
                self.fail(.unreachable("the answer is too long"), context)
            }
        case .end:
            self.overdue?.cancel()
            self.answer.succeed(HTTPAnswer(status: self.status, body: self.body, entityTag: self.entityTag))
            context.close(promise: nil)
        }
    }

    /// A long answer over a slow line has this time for each portion.
    private func wait(_ context: ChannelHandlerContext) {
        self.overdue?.cancel()
        self.overdue = context.eventLoop.assumeIsolated().scheduleTask(in: LinkLimits.answerTimeout) {
            self.fail(.timeout, context)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.fail(.unreachable("\(error)"), context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.fail(.unreachable("the connection broke"), context)
    }

    /// A connection that could not be made is told neither as active nor as inactive.
    func handlerRemoved(context: ChannelHandlerContext) {
        self.overdue?.cancel()
        self.answer.fail(LinkError.unreachable("the connection broke"))
    }

    /// Later calls find the promise kept already and change nothing.
    private func fail(_ error: LinkError, _ context: ChannelHandlerContext) {
        self.overdue?.cancel()
        self.answer.fail(error)
        context.close(promise: nil)
    }
}
