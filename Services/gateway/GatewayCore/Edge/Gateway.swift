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
package actor Gateway: LookUpHost, TurnHost {
    package nonisolated let node = NodeID.random()
    nonisolated let eventLoop: any EventLoop
    /// Where other gateways speak to this one.
    nonisolated let feedChannel: String
    package nonisolated var unownedExecutor: UnownedSerialExecutor {
        self.eventLoop.executor.asUnownedSerialExecutor()
    }

    let bus: any Bus
    let logger: Logger
    let metrics = GatewayMetrics()
    let limits: EdgeLimits
    let rates: RateGate
    let memory: HeldMemory
    let turns: Turns

    var connections: [ConnectionID: Connection] = [:]
    /// The live connection of each identity on this node.
    var bound: [WhisperID: Connection] = [:]
    let upgrades: Upgrades
    let requests: Requests
    let lookUps: TokenLookUps
    let guests: Guests
    private let mailboxJobs: MailboxJobs

    let announcer: Announcer
    let outcomes: OutcomeConfirmations
    let mail: MailRelay
    let peeks: MailPeeks
    let calls: CallRelay
    private let shareJobs: ShareJobs
    let shareFrames: ShareFrames
    let live: LiveRelay

    private let listener: ClientListener
    /// Whether Notices are heard. Without them no answer comes back.
    var isSubscribed = false
    var isDraining = false
    let busWatch: BusWatch
    var second = 0

    /// - Parameter rest: blocks the event loop, which must be the gateway's alone, for so long. Without it no turn waits for events.
    package init(
        configuration: GatewayConfiguration, bus: any Bus, eventLoop: any EventLoop, logger: Logger,
        rest: (@Sendable (Duration) -> Void)? = nil
    ) {
        self.bus = bus
        self.eventLoop = eventLoop
        self.logger = logger
        self.listener = ClientListener(configuration)
        self.feedChannel = Keyspace.feed(self.node).name
        self.limits = EdgeLimits(openConnections: configuration.openConnectionsMax, scale: configuration.rates.scale)
        self.rates = RateGate(bus: bus, rates: configuration.rates, classes: configuration.rateClasses)
        self.memory = HeldMemory(bytesMax: configuration.heldBytesMax)
        self.turns = Turns(eventLoop: eventLoop, metrics: self.metrics, memory: self.memory, rest: rest)
        self.upgrades = Upgrades(
            rates: self.rates, metrics: self.metrics, trustedProxies: configuration.trustedProxies,
            openConnectionsMax: self.limits.openConnectionsMax)
        self.requests = Requests(node: self.node, bus: bus, logger: logger)
        self.lookUps = TokenLookUps(bus: bus, rates: self.rates, requests: self.requests)
        self.guests = Guests(
            node: self.node, bus: bus, metrics: self.metrics, rates: self.rates, requests: self.requests)
        self.mailboxJobs = MailboxJobs(bus: bus)
        self.busWatch = BusWatch(node: self.node, bus: bus, jobs: self.mailboxJobs)
        self.announcer = Announcer(node: self.node, bus: bus, jobs: self.mailboxJobs)
        self.outcomes = OutcomeConfirmations(node: self.node, jobs: self.mailboxJobs, announcer: self.announcer)
        self.mail = MailRelay(
            node: self.node, jobs: self.mailboxJobs, requests: self.requests, announcer: self.announcer,
            metrics: self.metrics)
        self.peeks = MailPeeks(
            node: self.node, jobs: self.mailboxJobs, lookUps: self.lookUps, memory: self.memory, metrics: self.metrics,
            rates: self.rates, requests: self.requests, upgrades: self.upgrades)
        self.calls = CallRelay(node: self.node, bus: bus, requests: self.requests)
        self.shareJobs = ShareJobs(bus: bus)
        self.shareFrames = ShareFrames(
            node: self.node, jobs: self.shareJobs, rates: self.rates, requests: self.requests)
        self.live = LiveRelay(node: self.node, bus: bus, metrics: self.metrics, jobs: self.shareJobs)
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

    private func listen() async throws { try await self.listener.listen(self) }

    /// The port that clients reach, once listening.
    package var port: Int? { self.listener.port }

    /// Whether a load balancer should send clients here.
    package var isReady: Bool { self.listener.isListening && self.isSubscribed && !self.isDraining }

    /// Stops taking clients, moves those there are in paced batches (1001 with a jittered delay), and waits for
    /// answers under way.
    package func drain() async {
        self.isDraining = true
        self.listener.close()
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
        self.shareJobs.appendHeld()
        for connection in self.connections.values { connection.channel.close(promise: nil) }
    }

    // MARK: Writing

    func write(to connection: Connection, _ append: (inout ByteBuffer) -> Void) {
        guard connection.isOpen else { return }
        if connection.append(append) { self.turns.wrote(connection, self) }
    }

    func write(_ shared: ByteBuffer, to connection: Connection) {
        guard connection.isOpen else { return }
        if connection.append(shared) { self.turns.wrote(connection, self) }
    }

    func scheduleFlush() { self.turns.scheduleEnd(self) }

    func turnEnds() {
        self.announcer.send(self)
        self.live.publish()
    }

    func turnEnded() { self.live.recordFanOut() }

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
        case .session, .guest: return self.lookUpFailed(on: request.connection, .unavailable)
        case .guestCheck: return
        case .peek:
            self.peeks.failed(connection, .unavailable, self)
            return
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
        connection.beginsClosing(at: self.now)
        self.metrics.closed[code].increment()
        self.unbind(connection)
    }

    /// The connection is no longer the live one of its identity or guest.
    func unbind(_ connection: Connection) {
        self.outcomes.leave(connection.id)
        self.shareFrames.leave(connection.id)
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
