import NIOCore
import NIOWebSocket

/// One open WebSocket over NIO.
struct WebSocketLink: OpenLink {
    let events: AsyncStream<LinkEvent>
    private let channel: any Channel

    static func make(on channel: any Channel) -> (WebSocketLink, WebSocketHandler) {
        let (events, continuation) = AsyncStream.makeStream(
            of: LinkEvent.self, bufferingPolicy: .bufferingOldest(LinkLimits.eventsWaitingMax))
        return (WebSocketLink(events: events, channel: channel), WebSocketHandler(events: continuation))
    }

    func send(_ text: [UInt8]) {
        self.write(WebSocketFrame(fin: true, opcode: .text, maskKey: .random(), data: ByteBuffer(bytes: text)))
    }

    func close() {
        var reason = ByteBuffer()
        reason.write(webSocketErrorCode: .normalClosure)
        self.write(WebSocketFrame(fin: true, opcode: .connectionClose, maskKey: .random(), data: reason))
        // A peer that does not answer the close is not waited for.
        _ = self.channel.eventLoop.scheduleTask(in: .milliseconds(500)) { [channel] in channel.close(promise: nil) }
    }

    private func write(_ frame: WebSocketFrame) {
        self.channel.writeAndFlush(frame, promise: nil)
    }
}

/// Turns frames into events, answers pings, and reports the end once.
final class WebSocketHandler: ChannelInboundHandler {
    typealias InboundIn = WebSocketFrame
    typealias OutboundOut = WebSocketFrame

    private let events: AsyncStream<LinkEvent>.Continuation
    private var closing: (code: UInt16?, reason: String) = (nil, "")

    init(events: AsyncStream<LinkEvent>.Continuation) {
        self.events = events
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = self.unwrapInboundIn(data)
        switch frame.opcode {
        case .text:
            if case .dropped = self.events.yield(.text(Array(frame.unmaskedData.readableBytesView))) {
                self.closing.reason = "too much mail at once"
                context.close(promise: nil)
            }
        case .ping:
            self.events.yield(.alive)
            let pong = WebSocketFrame(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)
            context.writeAndFlush(self.wrapOutboundOut(pong), promise: nil)
        case .pong:
            self.events.yield(.alive)
        case .connectionClose:
            var data = frame.unmaskedData
            if let code = data.readInteger(as: UInt16.self) {
                self.closing = (code, data.readString(length: data.readableBytes) ?? "")
            }
            let echo = WebSocketFrame(
                fin: true, opcode: .connectionClose, maskKey: .random(), data: frame.unmaskedData)
            let close = context.writeAndFlush(self.wrapOutboundOut(echo))
            close.assumeIsolated().whenComplete { _ in context.close(promise: nil) }
        default:
            // The server never sends binary messages.
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.finish()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.finish()
    }

    private func finish() {
        self.events.yield(.closed(code: self.closing.code, reason: self.closing.reason))
        self.events.finish()
    }
}
