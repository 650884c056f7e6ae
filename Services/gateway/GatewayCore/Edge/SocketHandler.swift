import Contract
import NIOCore

/// The whole pipeline of a connection: bytes to messages, and nothing else. What they mean is the gateway's.
/// Two words and a parser, because there is one for every idle client.
final class SocketHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let gateway: Gateway
    private let id: ConnectionID
    private var parser: WebSocketParser?
    /// Bytes of an incomplete frame or request.
    private var partial: ByteBuffer?
    private var isDone = false

    init(gateway: Gateway, id: ConnectionID) {
        self.gateway = gateway
        self.id = id
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        self.gateway.assumeIsolated { [id] in $0.connected(id, channel: channel) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isDone else { return }
        var buffer = self.unwrapInboundIn(data)
        if var partial = self.partial {
            partial.writeBuffer(&buffer)
            buffer = partial
            self.partial = nil
        }
        if self.parser == nil {
            guard self.handshake(&buffer) else {
                if !self.isDone { self.keep(buffer) }
                return
            }
        }
        self.readFrames(&buffer)
        if !self.isDone { self.keep(buffer) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.isDone = true
        self.gateway.assumeIsolated { [id] in $0.disconnected(id) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A reset by the peer. The channel becomes inactive right after.
        context.close(promise: nil)
    }

    private func keep(_ buffer: ByteBuffer) {
        self.partial = buffer.readableBytes > 0 ? buffer : nil
    }

    /// - Returns: whether the connection is a WebSocket now.
    private func handshake(_ buffer: inout ByteBuffer) -> Bool {
        let request: UpgradeRequest?
        do throws(UpgradeRequest.Malformed) {
            request = try UpgradeRequest.parse(&buffer)
        } catch {
            self.isDone = true
            self.gateway.assumeIsolated { [id] in $0.refuseRequest(id) }
            return false
        }
        guard let request else { return false }
        let isUpgraded = self.gateway.assumeIsolated { [id] in $0.requested(request, by: id) }
        guard isUpgraded else {
            self.isDone = true
            return false
        }
        self.parser = WebSocketParser(messageBytesMax: Limits.frameBytesMax)
        return true
    }

    private func readFrames(_ buffer: inout ByteBuffer) {
        do throws(WebSocketParser.Violation) {
            while !self.isDone, let event = try self.parser!.next(&buffer) {
                self.isDone = self.gateway.assumeIsolated { [id] in $0.received(event, on: id) } == .stop
            }
        } catch {
            self.isDone = true
            self.gateway.assumeIsolated { [id] in $0.violated(error, on: id) }
        }
    }
}
