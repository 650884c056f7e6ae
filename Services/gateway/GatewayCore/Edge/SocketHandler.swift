import ClusterContract
import Contract
import NIOCore

/// Told to a connection's handler when its upgrade has been granted.
struct BecomesWebSocket: Sendable {}

/// The whole pipeline of a connection: it turns bytes into messages, and nothing else. The gateway interprets them.
/// Small, because there is one for every idle client.
final class SocketHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private enum Stage {
        /// Collects the request. Becomes `asking`, or `done`.
        case request
        /// The gateway decides; what the client sends meanwhile is kept. Becomes `webSocket`, or the channel closes.
        case asking
        /// Becomes `closing`.
        case webSocket(WebSocketParser)
        /// The server has said goodbye, and waits for the client's. Becomes `done`.
        /// Out of line to keep idle clients small.
        indirect case closing(ClosingReader)
        /// Nothing more is read. Terminal.
        case done
    }

    /// Bytes that a client may send before its upgrade is granted.
    private static let eagerBytesMax = 64 * 1_024

    private let gateway: Gateway
    private let id: ConnectionID
    private var stage = Stage.request
    /// Bytes of an incomplete frame or request.
    private var partial: ByteBuffer?
    /// The gateway counts what is kept here.
    private var isCounted = false

    init(gateway: Gateway, id: ConnectionID) {
        self.gateway = gateway
        self.id = id
    }

    func channelActive(context: ChannelHandlerContext) {
        let channel = context.channel
        self.gateway.assumeIsolated { [id] in $0.connected(id, channel: channel) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var buffer = self.unwrapInboundIn(data)
        if var partial = self.partial {
            self.partial = nil
            partial.writeBuffer(&buffer)
            buffer = partial
        }
        self.read(&buffer)
        if case .asking = self.stage, buffer.readableBytes > Self.eagerBytesMax { context.close(promise: nil) }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event is BecomesWebSocket else { return context.fireUserInboundEventTriggered(event) }
        self.stage = .webSocket(WebSocketParser(messageBytesMax: Limits.frameBytesMax))
        guard var buffer = self.partial else { return }
        self.partial = nil
        self.read(&buffer)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.stage = .done
        self.gateway.assumeIsolated { [id] in $0.disconnected(id) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A reset by the peer. The channel becomes inactive right after.
        context.close(promise: nil)
    }

    /// Takes what is complete off the buffer, and keeps the rest.
    private func read(_ buffer: inout ByteBuffer) {
        if case .request = self.stage { self.readRequest(&buffer) }
        if case .webSocket(var parser) = self.stage {
            self.stage = .done
            if let reader = self.readFrames(&buffer, &parser) {
                self.stage = .closing(reader)
                self.countNothing()
            } else {
                self.stage = .webSocket(parser)
            }
        }
        if case .closing(var reader) = self.stage {
            let isOver = reader.isOver(&buffer)
            self.stage = isOver ? .done : .closing(reader)
            if isOver { self.gateway.assumeIsolated { [id] in $0.answeredClose(id) } }
        }
        if case .done = self.stage { return }
        self.count(buffer.readableBytes)
        guard buffer.readableBytes > 0 else { return }
        // Bytes read before the rest must not be kept with it. Otherwise a client whose reads always end inside a
        // frame would have a buffer that only grows.
        self.partial = buffer.readerIndex > 0 ? ByteBuffer(bytes: buffer.readableBytesView) : buffer
    }

    /// Tells the gateway how much of an incomplete message is kept, if it is much or was.
    private func count(_ rest: Int) {
        guard case .webSocket(let parser) = self.stage else { return }
        let bytes = rest + parser.heldBytes
        let isMuch = bytes > GatewayLimits.heldBytesUncounted
        guard isMuch || self.isCounted else { return }
        self.isCounted = isMuch
        self.gateway.assumeIsolated { [id] in $0.memory.holds(incoming: bytes, for: id) }
    }

    /// The rest of an incomplete message is given up.
    private func countNothing() {
        guard self.isCounted else { return }
        self.isCounted = false
        self.gateway.assumeIsolated { [id] in $0.memory.holds(incoming: 0, for: id) }
    }

    private func readRequest(_ buffer: inout ByteBuffer) {
        do throws(UpgradeRequest.Malformed) {
            guard let request = try UpgradeRequest.parse(&buffer) else { return }
            self.stage = .asking
            self.gateway.assumeIsolated { [id] in $0.requested(request, by: id) }
        } catch {
            self.stage = .done
            self.gateway.assumeIsolated { [id] in $0.refuseRequest(id, because: error) }
        }
    }

    /// - Returns: `nil` while more frames may come; else what reads the rest.
    private func readFrames(_ buffer: inout ByteBuffer, _ parser: inout WebSocketParser) -> ClosingReader? {
        do throws(WebSocketParser.Violation) {
            while let event = try parser.next(&buffer) {
                let flow = self.gateway.assumeIsolated { [id] in $0.received(event, on: id) }
                if flow == .closing { return ClosingReader(isReadable: true) }
            }
            return nil
        } catch {
            self.gateway.assumeIsolated { [id] in $0.violated(error, on: id) }
            // After the other two, the buffer begins with the frame that was refused.
            return ClosingReader(isReadable: error != .protocolError)
        }
    }
}
