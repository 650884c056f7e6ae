import Bus
import Logging
import NIOCore
import Telemetry

/// The core of a `RedisBus` that speaks to a Redis Cluster: its masters, and the slots that each serves. Lives on its
/// event loop, from `start` to `close`.
///
/// Nothing is sent twice and nothing is forwarded. A command that came to the wrong master has failed, as with a lost
/// connection, so no later command in the same stream can overtake it.
final class RedisCluster: RedisServers {
    private struct Member {
        let master: RedisMaster
        /// Since when commands can be sent; `nil` before, and in an outage.
        var upAt: NIODeadline?
        var wasUp = false
    }

    private let configuration: RedisConfiguration
    private let eventLoop: any EventLoop
    private let logger: Logger
    private let news: ConnectionNews
    private let onReplaced: (_ slots: [Int]) -> Void
    private let metrics = BusMetrics()

    private var topology = RedisTopology()
    private var members: [RedisAddress: Member] = [:]
    /// The members, by `topology.masters`.
    private var masters: [RedisMaster] = []
    private var changedAt = NIODeadline.now()
    private var subscriptions: [ObjectIdentifier: any Subscription] = [:]
    private lazy var reads = ClusterReads(cluster: self, eventLoop: self.eventLoop)
    private var isRunning = false

    // Only one question at a time asks for the masters and their slots.
    private var isAsking = false
    private var isAskedAgain = false
    private var nextQuestion: Scheduled<Void>?
    /// Rises with each question, so that it is not always the same node that is asked first.
    private var questions = 0

    /// - Parameter onReplaced: told of the slots of which a master has become another's, or is back: it may lack what was written
    ///   last. No command reaches it before.
    init(
        configuration: RedisConfiguration, eventLoop: any EventLoop, logger: Logger,
        onReplaced: @escaping (_ slots: [Int]) -> Void
    ) {
        self.configuration = configuration
        self.eventLoop = eventLoop
        self.logger = logger
        self.news = ConnectionNews(eventLoop: eventLoop)
        self.onReplaced = onReplaced
    }

    func start() {
        self.isRunning = true
        self.ask()
        self.measureSoon()
    }

    // MARK: Commands

    func send(_ command: RedisCommand, _ handler: ReplyHandler) {
        guard let connection = self.master(for: command)?.connection else { return handler.fail(.unavailable) }
        connection.send(command, handler)
    }

    func readers(for command: RedisCommand) -> BlockingReaders? { self.master(for: command)?.readers }

    /// The time of day of any master: their hosts' clocks have to agree.
    private func master(for command: RedisCommand) -> RedisMaster? {
        guard let place = command.place else { return self.masters.first { $0.connection != nil } }
        return self.topology.index(of: HashSlot.of(place)).map { self.masters[$0] }
    }

    func read(
        _ positions: [(stream: String, after: EntryID)], limit: Int, blockFor: Duration,
        done: @escaping (Result<[StreamBatch], BusError>) -> Void
    ) -> ClusterReads.Wait? {
        self.reads.read(positions, limit: limit, blockFor: blockFor, done: done)
    }

    func callOff(_ wait: ClusterReads.Wait) { self.reads.callOff(wait) }

    /// Whether subscribers may be on the way to the master of this channel. A Notice without a receiver may then have
    /// been lost.
    func mayMissListeners(of channel: String) -> Bool {
        guard let address = self.topology.master(of: HashSlot.of(channel)), let upAt = self.members[address]?.upAt
        else { return true }
        return NIODeadline.now() - max(upAt, self.changedAt) < TimeAmount(RedisLimits.listenersMissing)
    }

    // MARK: Connections

    func observe(_ observer: @escaping @Sendable (RedisConnectionEvent) -> Void) { self.news.observe(observer) }

    func whenConnected(within timeout: Duration, _ done: @escaping (Result<Void, BusError>) -> Void) {
        self.news.whenUp(within: timeout, done)
    }

    func dial(to address: RedisAddress) -> RedisDial {
        RedisDial(configuration: self.configuration, eventLoop: self.eventLoop, address: address) { [weak self] in
            self?.askSoon()
        }
    }

    private func add(_ address: RedisAddress) {
        let master = RedisMaster(dial: self.dial(to: address)) { [weak self] in self?.heard($0, from: address) }
        self.members[address] = Member(master: master)
        master.connect()
    }

    private func heard(_ event: RedisLink.Event, from address: RedisAddress) {
        guard let member = self.members[address] else { return }
        switch event {
        case .up:
            self.members[address]?.upAt = .now()
            self.members[address]?.wasUp = true
            if member.wasUp {
                // It may have been started anew, with nothing.
                self.metrics.reconnects.increment()
                self.logger.notice("bus reconnected", [.node: "\(address)"])
                self.onReplaced(self.topology.slots(of: address))
                // While it was away, another may have taken its slots.
                self.askSoon()
            }
        case .down:
            self.members[address]?.upAt = nil
            self.logger.warning("bus connection lost", [.node: "\(address)"])
            self.askSoon()
        case .attemptFailed:
            self.askSoon()
        }
        self.tellNews()
    }

    /// Up with all masters for the first time; then as long as there is one.
    private func tellNews() {
        let up = self.members.values.count { $0.upAt != nil }
        if self.news.isUp {
            if up == 0 { self.news.fall() }
        } else if up > 0, up == self.members.count {
            self.news.rise()
        }
    }

    func close() {
        guard self.isRunning else { return }
        self.isRunning = false
        self.nextQuestion?.cancel()
        for member in self.members.values { member.master.close() }
        self.members = [:]
        self.masters = []
        self.topology = RedisTopology()
        self.reads.close()
        for subscription in self.subscriptions.values { subscription.end(.failure(.unavailable)) }
        self.subscriptions = [:]
        self.news.close()
    }

    // MARK: Who is master of what

    /// After a sign that something has changed.
    private func askSoon() {
        guard self.isRunning else { return }
        if self.isAsking { self.isAskedAgain = true } else { self.schedule(RedisLimits.topologyRetry) }
    }

    private func schedule(_ pause: Duration) {
        let time = NIODeadline.now() + TimeAmount(pause)
        if let next = self.nextQuestion {
            guard time < self.nextQuestionAt else { return }
            next.cancel()
        }
        self.nextQuestionAt = time
        self.nextQuestion = self.eventLoop.assumeIsolated().scheduleTask(deadline: time) {
            self.nextQuestion = nil
            self.ask()
        }
    }

    private var nextQuestionAt = NIODeadline.distantFuture

    private func ask() {
        guard self.isRunning, !self.isAsking else { return }
        self.isAsking = true
        self.isAskedAgain = false
        var nodes = self.topology.masters
        for node in self.configuration.nodes where !nodes.contains(node) { nodes.append(node) }
        let turn = self.questions % nodes.count
        self.questions += 1
        nodes = Array(nodes[turn...] + nodes[..<turn])
        // Nodes that are known to be away are asked last.
        let away = nodes.filter { self.members[$0].map { $0.upAt == nil } ?? false }
        self.ask((nodes.filter { !away.contains($0) } + away)[...])
    }

    /// Asks one node after the other until one answers that the cluster serves.
    private func ask(_ nodes: ArraySlice<RedisAddress>) {
        guard self.isRunning else { return }
        guard let node = nodes.first else { return self.asked(RedisLimits.topologyRetry) }
        let others = nodes.dropFirst()
        RedisDial(configuration: self.configuration, eventLoop: self.eventLoop, address: node).connect { result in
            guard case .success(let connection) = result else { return self.ask(others) }
            connection.watchForReplies()
            let question = NIOLoopBound((self, connection), eventLoop: self.eventLoop)
            let epoch = NIOLoopBoundBox<UInt64?>(nil, eventLoop: self.eventLoop)
            connection.send(
                .clusterInfo,
                .answer { result in
                    let info = try? result.decoded { cursor throws(BusError) in try cursor.string() }.get()
                    epoch.value = info.flatMap(RedisTopology.epoch(in:))
                })
            connection.send(
                .clusterSlots,
                .answer { result in
                    let (cluster, connection) = question.value
                    connection.close()
                    let topology = try? result.decoded { cursor throws(BusError) in
                        try RedisTopology(&cursor, from: node)
                    }.get()
                    guard var topology, let epoch = epoch.value, epoch >= cluster.topology.epoch else {
                        return cluster.ask(others)
                    }
                    topology.epoch = epoch
                    cluster.take(topology)
                    cluster.asked(RedisLimits.topologyEvery)
                })
        }
    }

    private func asked(_ pause: Duration) {
        self.isAsking = false
        if self.masters.isEmpty { self.logger.debug("bus has no masters yet") }
        self.schedule(self.isAskedAgain ? RedisLimits.topologyRetry : pause)
    }

    private func take(_ topology: RedisTopology) {
        guard self.isRunning else { return }
        let changes = topology.changes(since: self.topology)
        let isFirst = self.topology.masters.isEmpty
        self.topology = topology
        guard !changes.isEmpty else { return }
        self.changedAt = .now()
        for (address, member) in self.members where !topology.masters.contains(address) {
            self.members[address] = nil
            member.master.close()
        }
        for address in topology.masters where self.members[address] == nil { self.add(address) }
        self.masters = topology.masters.compactMap { self.members[$0]?.master }
        if !isFirst {
            self.logger.notice("bus has other masters", [.count: .number(changes.count)])
            self.onReplaced(changes)
        }
        for case let subscription as ClusterSubscription in self.subscriptions.values { subscription.regroup() }
        self.tellNews()
    }

    // MARK: Subscriptions

    func subscribe(
        to channels: [String], onEvent: @escaping @Sendable (SubscriptionEvent) -> Void,
        onEnd: @escaping (Result<Void, BusError>) -> Void
    ) -> (any Subscription)? {
        guard self.isRunning else {
            onEnd(.failure(.unavailable))
            return nil
        }
        let subscription = ClusterSubscription(to: channels, cluster: self, onEvent: onEvent, onEnd: onEnd)
        self.subscriptions[ObjectIdentifier(subscription)] = subscription
        subscription.regroup()
        return subscription
    }

    func forget(_ subscription: any Subscription) { self.subscriptions[ObjectIdentifier(subscription)] = nil }

    func master(of channel: String) -> RedisAddress? { self.topology.master(of: HashSlot.of(channel)) }

    /// Commands are counted at each look: a metric per command would cost more than the command.
    private func measureSoon() {
        self.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(RedisLimits.watchEvery)) {
            guard self.isRunning else { return }
            let counts = self.members.values.map { $0.master.takeCounts() }
            self.metrics.commands.increment(by: counts.reduce(0) { $0 + $1.issued })
            self.metrics.commandsInFlight.set(counts.reduce(0) { $0 + $1.inFlight })
            self.measureSoon()
        }
    }
}
