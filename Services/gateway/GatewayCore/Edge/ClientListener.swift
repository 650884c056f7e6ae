import ClusterContract
import NIOCore
import NIOPosix
import Telemetry

/// The socket at which clients arrive.
final class ClientListener {
    private let configuration: GatewayConfiguration
    private var channel: (any Channel)?
    private var newest: UInt64 = 0

    init(_ configuration: GatewayConfiguration) { self.configuration = configuration }

    /// The port that clients reach, once listening.
    var port: Int? { self.channel?.localAddress?.port }

    var isListening: Bool { self.channel != nil }

    /// Listens until cancelled.
    func listen(_ gateway: isolated Gateway) async throws {
        // NIO calls back on the gateway's thread, where the listener lives.
        nonisolated(unsafe) let listener = self
        let bootstrap = ServerBootstrap(group: gateway.eventLoop)
            .serverChannelOption(.backlog, value: GatewayLimits.listenBacklog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // The accept loop must not starve the clients already there.
            .serverChannelOption(.maxMessagesPerRead, value: 64)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelOption(.maxMessagesPerRead, value: 1)
            .childChannelOption(.recvAllocator, value: ReleasingReadAllocator())
            .childChannelOption(
                .writeBufferWaterMark,
                value: .init(low: GatewayLimits.outboundBytesMax / 2, high: GatewayLimits.outboundBytesMax)
            )
            .childChannelInitializer { channel in
                gateway.assumeIsolated { gateway in
                    listener.newest += 1
                    let id = ConnectionID(value: listener.newest)
                    return channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(SocketHandler(gateway: gateway, id: id))
                    }
                }
            }
        let channel = try await bootstrap.bind(host: self.configuration.host, port: self.configuration.port).get()
        self.channel = channel
        gateway.logger.notice(
            "listening", [.port: .number(channel.localAddress?.port ?? 0), .node: "\(gateway.node)"])
        try await withTaskCancellationHandler {
            try await channel.closeFuture.get()
            // Closed by the drain: stay, to the end of the answers under way.
            while true { try await Task.sleep(for: .seconds(3_600)) }
        } onCancel: {
            channel.close(promise: nil)
        }
    }

    /// Takes no more clients.
    func close() { self.channel?.close(promise: nil) }
}
