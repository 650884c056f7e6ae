import NIOCore

/// Lets a channel connect to public addresses only: the place of a Web Push endpoint is a client's word, and nobody may
/// send this process to a machine behind its own firewall.
final class AddressGate: ChannelOutboundHandler, Sendable {
    typealias OutboundIn = ByteBuffer

    struct Refused: Error {}

    func connect(context: ChannelHandlerContext, to address: SocketAddress, promise: EventLoopPromise<Void>?) {
        guard Self.isPublic(address) else {
            promise?.fail(Refused())
            // NIO goes on to the name's next address with another channel, and leaves this one to itself.
            context.close(promise: nil)
            return
        }
        context.connect(to: address, promise: promise)
    }

    static func isPublic(_ address: SocketAddress) -> Bool {
        switch address {
        case .v4(let address):
            withUnsafeBytes(of: address.address.sin_addr) { PublicAddress.isPublic(v4: Array($0)) }
        case .v6(let address):
            withUnsafeBytes(of: address.address.sin6_addr) { PublicAddress.isPublic(v6: Array($0)) }
        case .unixDomainSocket: false
        }
    }
}
