import NIOCore

/// Hands the bytes of one socket to the fleet.
final class SocketHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let fleet: Fleet
    private let socket: Fleet.Socket

    init(fleet: Fleet, socket: Fleet.Socket) {
        self.fleet = fleet
        self.socket = socket
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = self.unwrapInboundIn(data)
        self.fleet.assumeIsolated { [socket] in $0.read(buffer, from: socket) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.fleet.assumeIsolated { [socket] in $0.closed(socket) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // A reset by the peer. The channel becomes inactive right after.
        context.close(promise: nil)
    }
}
