package import NIOCore
import NIOPosix
import TestKit
import LocalStack

/// A TCP proxy on loopback. It can cut, delay or hold what goes through it. One thread.
package actor FaultyProxy {
    private nonisolated let eventLoop: any EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { self.eventLoop.executor.asUnownedSerialExecutor() }
    /// Where others connect.
    package nonisolated let port: Int

    private var target: Int
    private var listener: (any Channel)?
    private var relays: [Int: Relay] = [:]
    private var next = 0
    private var random = SystemRandomNumberGenerator()
    private var conditions = Conditions()

    /// One connection, and its other half.
    private final class Relay {
        let near: any Channel
        let far: any Channel
        var lanes: [Way: Lane] = [:]

        init(near: any Channel, far: any Channel) {
            self.near = near
            self.far = far
        }
    }

    package enum Way: Sendable, Hashable, CaseIterable {
        /// From whoever connected.
        case there, back
    }

    /// The pieces that wait on one way of one connection. They leave in the order in which they came.
    package struct Lane: Sendable {
        private(set) var lastDue: NIODeadline?
        private var waiting = 0

        package init() {}

        /// - Returns: when a piece that comes now leaves; nil: at once. One whose time has come still waits until it
        ///   says `left`: the loop may not have got round to it.
        package mutating func enter(at now: NIODeadline, delay: Duration) -> NIODeadline? {
            let due = max(self.lastDue ?? now, now + TimeAmount(delay))
            guard due > now || self.waiting > 0 else { return nil }
            self.lastDue = due
            self.waiting += 1
            return due
        }

        package mutating func left() { self.waiting -= 1 }
    }

    package struct Conditions: Sendable, Equatable {
        /// Delay of each piece.
        package var delay = Duration.zero
        /// Nothing moves these ways.
        package var held: Set<Way> = []
        /// Nobody gets onto the other side.
        package var isClosed = false
        /// Nor does whoever comes from these addresses.
        package var isClosedTo: Set<String> = []

        package init(
            delay: Duration = .zero, held: Set<Way> = [], isClosed: Bool = false, isClosedTo: Set<String> = []
        ) {
            self.delay = delay
            self.held = held
            self.isClosed = isClosed
            self.isClosedTo = isClosedTo
        }

        func lets(_ channel: any Channel) -> Bool {
            !self.isClosed && !self.isClosedTo.contains(channel.remoteAddress?.ipAddress ?? "")
        }
    }

    /// - Parameter target: the port of 127.0.0.1 on the other side; may be set later.
    package init(to target: Int = 0) {
        self.eventLoop = MultiThreadedEventLoopGroup.singleton.next()
        self.port = LoopbackPort.free()
        self.target = target
    }

    package func leads(to target: Int) { self.target = target }

    package func open() async throws {
        self.listener = try await ServerBootstrap(group: self.eventLoop)
            .serverChannelOption(.backlog, value: 512)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { channel in self.assumeIsolated { $0.arrived(channel) } }
            .bind(host: "127.0.0.1", port: self.port).get()
    }

    package func close() async {
        try? await self.listener?.close()
        self.cut(percent: 100)
    }

    /// From here on, for connections that stand and for new ones.
    package func set(_ conditions: Conditions) {
        self.conditions = conditions
        for relay in self.relays.values { self.apply(to: relay) }
    }

    /// Breaks about this part of the connections that stand.
    /// - Returns: how many.
    @discardableResult
    package func cut(percent: Int) -> Int {
        let doomed = self.relays.filter { _ in Int.random(in: 1...100, using: &self.random) <= percent }
        for relay in doomed.values { relay.near.close(promise: nil) }
        return doomed.count
    }

    /// Breaks the connections that could not be made now.
    package func cutUnwanted() {
        for relay in self.relays.values where !self.conditions.lets(relay.near) { relay.near.close(promise: nil) }
    }

    // MARK: Relaying

    private func arrived(_ near: any Channel) -> EventLoopFuture<Void> {
        guard self.conditions.lets(near) else { return near.eventLoop.makeFailedFuture(ChannelError.connectPending) }
        self.next += 1
        let number = self.next
        return ClientBootstrap(group: self.eventLoop)
            .channelOption(.autoRead, value: false)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(host: "127.0.0.1", port: self.target)
            .flatMapThrowing { far in
                try near.pipeline.syncOperations.addHandler(RelayEnd(proxy: self, number: number, way: .there))
                try far.pipeline.syncOperations.addHandler(RelayEnd(proxy: self, number: number, way: .back))
                self.assumeIsolated { proxy in
                    proxy.relays[number] = Relay(near: near, far: far)
                    // The near one becomes active behind this.
                    near.eventLoop.execute { self.assumeIsolated { $0.becameWritable(number) } }
                }
            }
    }

    private func apply(to relay: Relay) {
        for (channel, way, other) in [(relay.near, Way.there, relay.far), (relay.far, .back, relay.near)] {
            let reads = !self.conditions.held.contains(way) && other.isWritable
            _ = channel.setOption(.autoRead, value: reads)
        }
    }

    fileprivate func passes(_ bytes: ByteBuffer, on number: Int, _ way: Way) {
        guard let relay = self.relays[number] else { return }
        let other = way == .there ? relay.far : relay.near
        guard let due = relay.lanes[way, default: Lane()].enter(at: .now(), delay: self.conditions.delay) else {
            return other.writeAndFlush(bytes, promise: nil)
        }
        self.eventLoop.assumeIsolated().scheduleTask(deadline: due) {
            relay.lanes[way]?.left()
            other.writeAndFlush(bytes, promise: nil)
        }
    }

    fileprivate func becameWritable(_ number: Int) {
        if let relay = self.relays[number] { self.apply(to: relay) }
    }

    fileprivate func ended(_ number: Int) {
        guard let relay = self.relays.removeValue(forKey: number) else { return }
        let (near, far) = (relay.near, relay.far)
        // Behind what is still on its way.
        self.eventLoop.scheduleTask(deadline: relay.lanes.values.compactMap(\.lastDue).max() ?? .now()) {
            near.close(promise: nil)
            far.close(promise: nil)
        }
    }
}

/// One end of a relay.
private final class RelayEnd: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let proxy: FaultyProxy
    private let number: Int
    private let way: FaultyProxy.Way

    init(proxy: FaultyProxy, number: Int, way: FaultyProxy.Way) {
        self.proxy = proxy
        self.number = number
        self.way = way
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let (bytes, number, way) = (self.unwrapInboundIn(data), self.number, self.way)
        self.proxy.assumeIsolated { $0.passes(bytes, on: number, way) }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        let number = self.number
        self.proxy.assumeIsolated { $0.becameWritable(number) }
    }

    func channelInactive(context: ChannelHandlerContext) {
        let number = self.number
        self.proxy.assumeIsolated { $0.ended(number) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
