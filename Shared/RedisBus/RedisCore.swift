import Bus
import Logging
import NIOCore
import Telemetry

/// The core of a `RedisBus` that speaks to one server. Lives on its event loop, from `start` to `close`.
final class RedisCore: RedisServers {
    private let dial: RedisDial
    private let logger: Logger
    private let news: ConnectionNews
    private var master: RedisMaster?
    private var subscriptions: [ObjectIdentifier: any Subscription] = [:]
    /// So that an outage is one line in the log and not one per attempt.
    private var outageIsLogged = false
    private let metrics = BusMetrics()

    init(dial: RedisDial, logger: Logger) {
        self.dial = dial
        self.logger = logger
        self.news = ConnectionNews(eventLoop: dial.eventLoop)
    }

    func start() {
        let master = RedisMaster(dial: self.dial) { self.heard($0) }
        self.master = master
        master.connect()
        self.measureSoon()
    }

    func send(_ command: RedisCommand, _ handler: ReplyHandler) {
        guard let connection = self.master?.connection else { return handler.fail(.unavailable) }
        connection.send(command, handler)
    }

    func readers(for command: RedisCommand) -> BlockingReaders? { self.master?.readers }

    func observe(_ observer: @escaping @Sendable (RedisConnectionEvent) -> Void) { self.news.observe(observer) }

    func whenConnected(within timeout: Duration, _ done: @escaping (Result<Void, BusError>) -> Void) {
        self.news.whenUp(within: timeout, done)
    }

    func subscribe(
        to channels: [String], onEvent: @escaping @Sendable (SubscriptionEvent) -> Void,
        onEnd: @escaping (Result<Void, BusError>) -> Void
    ) -> (any Subscription)? {
        guard self.master != nil else {
            onEnd(.failure(.unavailable))
            return nil
        }
        let subscription = RedisSubscription(to: channels, dial: self.dial, onEvent: onEvent, onEnd: onEnd)
        self.subscriptions[ObjectIdentifier(subscription)] = subscription
        return subscription
    }

    func forget(_ subscription: any Subscription) {
        self.subscriptions[ObjectIdentifier(subscription)] = nil
    }

    func close() {
        guard let master = self.master else { return }
        self.master = nil
        master.close()
        for subscription in self.subscriptions.values { subscription.end(.failure(.unavailable)) }
        self.subscriptions = [:]
        self.news.close()
    }

    private func heard(_ event: RedisLink.Event) {
        switch event {
        case .up:
            self.outageIsLogged = false
            if self.news.rise() {
                self.metrics.reconnects.increment()
                self.logger.notice("bus reconnected")
            }
        case .down:
            self.outageIsLogged = true
            self.logger.warning("bus connection lost")
            self.news.fall()
        case .attemptFailed(let error):
            guard !self.outageIsLogged else { return }
            self.outageIsLogged = true
            self.logger.warning("bus cannot be reached", [.error: "\(error)"])
        }
    }

    /// Commands are counted at each look: a metric per command would cost more than the command.
    private func measureSoon() {
        self.dial.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(RedisLimits.watchEvery)) {
            guard let (issued, inFlight) = self.master?.takeCounts() else { return }
            self.metrics.commands.increment(by: issued)
            self.metrics.commandsInFlight.set(inFlight)
            self.measureSoon()
        }
    }
}
