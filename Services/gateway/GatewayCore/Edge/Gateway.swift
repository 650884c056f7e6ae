package import Bus
package import ClusterContract
import Contract
package import Logging
package import NIOCore
import NIOPosix
import ServerCrypto
import Telemetry

/// One gateway node: its clients' sockets, what it asked other services, and what they tell it.
///
/// The actor lives on one event loop, the sockets' and the bus's own: nothing in here waits for a lock or hops between
/// threads. More cores are used by more gateways.
package actor Gateway: RequestHost, RateGateHost {
    package nonisolated let node = NodeID.random()
    nonisolated let eventLoop: any EventLoop
    /// Where other gateways speak to this one.
    nonisolated let feedChannel: String
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        self.eventLoop.executor.asUnownedSerialExecutor()
    }

    let configuration: GatewayConfiguration
    let bus: any Bus
    let logger: Logger
    let metrics = GatewayMetrics()
    let limits: EdgeLimits
    let rates: RateGate
    let trustedProxies: TrustedProxies

    var connections: [ConnectionID: Connection] = [:]
    /// The live connection of each identity on this node.
    var bound: [WhisperID: Connection] = [:]
    /// WebSockets of each client address.
    var openConnections: [ClientAddress: Int] = [:]
    let requests: Requests
    let guests: Guests
    let mailboxJobs: MailboxJobs

    let announcer: Announcer
    let outcomes: OutcomeConfirmations
    let mail: MailRelay
    let calls: CallRelay
    private let liveJobs: LiveJobs
    let liveControl: LiveControl
    let live: LiveRelay

    var memoryBudget = MemoryBudget()

    private var nextConnection: UInt64 = 0
    /// Connections with something to write at the end of this turn.
    private var dirty: [Connection] = []
    private var isFlushScheduled = false
    private var turns = ArrivalPacing(
        interval: GatewayLimits.turnInterval, worthWaiting: GatewayLimits.turnEventsWorthWaiting,
        window: GatewayLimits.turnRateWindow)
    /// Frames and Notices of this turn.
    private var turnEvents = 0
    /// Blocks the event loop for so long.
    private nonisolated let rest: (@Sendable (Duration) -> Void)?
    private var listener: (any Channel)?

    /// Whether Notices are heard. Without them no answer comes back.
    var isSubscribed = false
    var isDraining = false
    let canary: Canary
    var second = 0
    /// At most one look at the bus is under way.
    var isLookingAtBus = false

    /// - Parameter rest: blocks the event loop, which must be the gateway's alone, for so long. Without it no turn waits for events.
    package init(
        configuration: GatewayConfiguration, bus: any Bus, eventLoop: any EventLoop, logger: Logger,
        rest: (@Sendable (Duration) -> Void)? = nil
    ) {
        self.rest = rest
        self.configuration = configuration
        self.bus = bus
        self.eventLoop = eventLoop
        self.logger = logger
        self.canary = Canary(self.node)
        self.feedChannel = Keyspace.feed(self.node).name
        self.rates = RateGate(bus: bus, rates: configuration.rates)
        self.requests = Requests(node: self.node, bus: bus, logger: logger)
        self.guests = Guests(
            node: self.node, bus: bus, metrics: self.metrics, rates: self.rates, requests: self.requests)
        self.mailboxJobs = MailboxJobs(bus: bus)
        self.announcer = Announcer(node: self.node, bus: bus, jobs: self.mailboxJobs)
        self.outcomes = OutcomeConfirmations(node: self.node, jobs: self.mailboxJobs, announcer: self.announcer)
        self.mail = MailRelay(
            node: self.node, jobs: self.mailboxJobs, requests: self.requests, announcer: self.announcer,
            metrics: self.metrics)
        self.calls = CallRelay(node: self.node, bus: bus, requests: self.requests)
        self.liveJobs = LiveJobs(bus: bus)
        self.liveControl = LiveControl(
            node: self.node, jobs: self.liveJobs, rates: self.rates, requests: self.requests)
        self.live = LiveRelay(node: self.node, bus: bus, metrics: self.metrics, jobs: self.liveJobs)
        self.limits = EdgeLimits(openConnections: configuration.openConnectionsMax, scale: configuration.rates.scale)
        self.trustedProxies = configuration.trustedProxies
    }

    // MARK: Life

    /// Listens and serves until cancelled.
    package func run() async throws {
        defer { self.rates.forgetLookUps() }
        // The listener opens after the subscription: without it no request would get its answer.
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await self.bus.subscribe(
                    to: [Keyspace.node(self.node).name, Keyspace.nodes.name, self.feedChannel]
                ) { event in
                    self.assumeIsolated { $0.heard(event) }
                }
            }
            group.addTask { try await self.listen() }
            group.addTask { try await self.tick() }
            try await group.next()
            group.cancelAll()
        }
    }

    private func listen() async throws {
        let bootstrap = ServerBootstrap(group: self.eventLoop)
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
                self.assumeIsolated { gateway in
                    gateway.nextConnection += 1
                    let id = ConnectionID(value: gateway.nextConnection)
                    return channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(SocketHandler(gateway: gateway, id: id))
                    }
                }
            }
        let listener = try await bootstrap.bind(host: self.configuration.host, port: self.configuration.port).get()
        self.listener = listener
        self.logger.notice("listening", [.port: .number(listener.localAddress?.port ?? 0), .node: "\(self.node)"])
        try await withTaskCancellationHandler {
            try await listener.closeFuture.get()
            // Closed by the drain: stay, to the end of the answers under way.
            while true { try await Task.sleep(for: .seconds(3_600)) }
        } onCancel: {
            listener.close(promise: nil)
        }
    }

    /// The port that clients reach, once listening.
    package var port: Int? { self.listener?.localAddress?.port }

    /// Whether a load balancer should send clients here.
    package var isReady: Bool { self.listener != nil && self.isSubscribed && !self.isDraining }

    /// Stops taking clients, moves those there are in paced batches (1001 with a jittered delay), and waits for
    /// answers under way.
    package func drain() async {
        self.isDraining = true
        self.listener?.close(promise: nil)
        let deadline = ContinuousClock.now + GatewayLimits.drainAnswersMax
        while self.requests.count > 0, ContinuousClock.now < deadline {
            guard (try? await Task.sleep(for: GatewayLimits.drainPause)) != nil else { break }
        }
        let delayMax = DrainSpread.delayMax(connections: self.connections.count)
        while true {
            let batch = self.connections.values.filter { $0.isOpen }.prefix(GatewayLimits.drainBatch)
            if batch.isEmpty { break }
            for connection in batch {
                let delay = Int64.random(in: 0...delayMax)
                self.close(connection, .goingAway, reason: "\(delay)")
            }
            guard (try? await Task.sleep(for: GatewayLimits.drainPause)) != nil else { break }
        }
        self.mailboxJobs.appendHeld(self)
        self.liveJobs.appendHeld()
        for connection in self.connections.values { connection.channel.close(promise: nil) }
    }

    // MARK: Turns

    /// A frame or a Notice has come. While many come, the event loop rests a moment after each turn, and the next turn takes all that
    /// came meanwhile: each wake-up of a thread costs more than a frame.
    func countEvent() {
        guard self.rest != nil else { return }
        self.turnEvents += 1
        guard self.turnEvents == 1 else { return }
        // Twice: behind all that this turn is about to write.
        self.eventLoop.execute { self.eventLoop.execute { self.assumeIsolated { $0.endTurn() } } }
    }

    private func endTurn() {
        let pause = self.turns.pause(at: .now)
        if pause > .zero { self.rest?(pause) }
        self.turns.looked(self.turnEvents, at: .now)
        self.turnEvents = 0
    }

    // MARK: Writing

    func write(to connection: Connection, _ append: (inout ByteBuffer) -> Void) {
        guard connection.isOpen else { return }
        if connection.append(append) { self.flushLater(connection) }
    }

    func write(_ shared: ByteBuffer, to connection: Connection) {
        guard connection.isOpen else { return }
        if connection.append(shared) { self.flushLater(connection) }
    }

    private func flushLater(_ connection: Connection) {
        self.dirty.append(connection)
        self.scheduleFlush()
    }

    func scheduleFlush() {
        guard !self.isFlushScheduled else { return }
        self.isFlushScheduled = true
        self.eventLoop.execute { self.assumeIsolated { $0.flush() } }
    }

    private func flush() {
        self.isFlushScheduled = false
        self.announcer.send(self)
        self.live.publish()
        let dirty = self.dirty
        self.dirty.removeAll(keepingCapacity: true)
        var bytes = 0
        for connection in dirty {
            guard let outgoing = connection.takeOutgoing() else { continue }
            bytes += outgoing.readableBytes
            if connection.send(outgoing) { continue }
            // Unsent bytes of small writes are noticed with our next ping.
            if outgoing.readableBytes > GatewayLimits.heldBytesUncounted / 4 { self.lookAtUnsent(of: connection) }
            if connection.isOpen, !connection.channel.isWritable {
                self.metrics.slowConsumersClosed.increment()
                self.close(connection, .slowConsumer)
            }
        }
        self.metrics.bytesOut.increment(by: bytes)
        self.live.recordFanOut()
    }

    func lookAtUnsent(of connection: Connection) {
        if Self.unsentBytes(of: connection) > GatewayLimits.heldBytesUncounted {
            self.memoryBudget.track(connection.id)
        }
    }

    /// Bytes that the socket has not taken yet.
    static func unsentBytes(of connection: Connection) -> Int {
        (try? connection.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
    }

    // MARK: Connections

    func connection(_ id: ConnectionID) -> Connection? { self.connections[id] }

    func bound(_ principal: PrincipalID) -> Connection? {
        switch principal {
        case .identity(let identity): self.bound[identity]
        case .guest(let guest): self.guests[guest]
        }
    }

    // MARK: Requests

    func failed(_ number: UInt64, because reason: FailureReason) { self.requests.failed(number, because: reason, self) }

    func ended(_ request: PendingRequest) {
        self.rates.settle(request, with: nil, self)
        guard let connection = self.connections[request.connection] else { return }
        switch request.kind {
        case .session, .guest: return self.lookUpFailed(on: request.connection)
        case .guestCheck: return
        // A router may still read the page later. It would believe that the client has it, and send newer mail live
        // before the client has read that page. So nothing goes live until the router knows how far the client is.
        case .fetch: connection.deliveryCursor.mayHaveMissed()
        default: break
        }
        self.refuse(connection, .unavailable, requestID: request.requestID)
    }

    // MARK: Closing

    /// Says goodbye. The socket goes when the client has answered, or after `closeLinger` (RFC 6455 §7.1.1).
    func close(_ connection: Connection, _ code: CloseCode, reason: String) {
        guard connection.isOpen else { return }
        self.write(to: connection) { WebSocketWriter.close(code.rawValue, reason: reason, to: &$0) }
        connection.phase = .closing(since: self.now)
        self.metrics.closed[code].increment()
        self.unbind(connection)
    }

    /// The connection is no longer the live one of its identity or guest.
    func unbind(_ connection: Connection) {
        self.outcomes.leave(connection.id)
        self.liveControl.leave(connection.id)
        self.live.leave(connection.id, self)
        let token = connection.machine.newestToken
        self.guests.leave(connection)
        let framesWait = connection.machine.ended()
        guard let session = connection.session else { return }
        let identity = session.caller.identity
        guard self.bound[identity] === connection else { return }
        self.bound[identity] = nil
        if framesWait { self.rates.framesWait(of: connection) }
        if let token { self.rates.remember(token: token) }
        self.announcer.left(connection, of: session, self)
    }
}
