import Bus
import Logging
import NIOCore
import Telemetry

/// What a `RedisBus` owns. Lives on its event loop, from `start` to `close`.
final class RedisCore {
    let dial: RedisDial
    let readers: BlockingReaders
    private let logger: Logger
    private var link: RedisLink?
    private var subscriptions: [ObjectIdentifier: RedisSubscription] = [:]
    private var observers: [@Sendable (RedisConnectionEvent) -> Void] = []
    private var connectWaiters: [ConnectWaiter] = []
    private var hasConnected = false
    /// So that an outage is one line in the log and not one per attempt.
    private var outageIsLogged = false
    private let metrics = BusMetrics()
    /// Commands of this connection that were counted already.
    private var counted: UInt64 = 0

    init(dial: RedisDial, logger: Logger) {
        self.dial = dial
        self.readers = BlockingReaders(dial: dial)
        self.logger = logger
    }

    func start() {
        let link = RedisLink(dial: self.dial) { self.heard($0) }
        self.link = link
        link.connect()
        self.measureSoon()
    }

    func send(_ command: RedisCommand, _ handler: ReplyHandler) {
        guard let connection = self.link?.connection else { return handler.fail(.unavailable) }
        connection.send(command, handler)
    }

    func observe(_ observer: @escaping @Sendable (RedisConnectionEvent) -> Void) {
        self.observers.append(observer)
        if self.link?.connection != nil { observer(.connected(isReconnect: false)) }
    }

    func whenConnected(within timeout: Duration, _ done: @escaping (Result<Void, BusError>) -> Void) {
        if self.link?.connection != nil { return done(.success(())) }
        let waiter = ConnectWaiter(done)
        self.connectWaiters.append(waiter)
        self.dial.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) {
            self.connectWaiters.removeAll { $0 === waiter }
            waiter.finish(.failure(.unavailable))
        }
    }

    func subscribe(
        to channels: [String], onEvent: @escaping @Sendable (SubscriptionEvent) -> Void,
        onEnd: @escaping (Result<Void, BusError>) -> Void
    ) -> RedisSubscription? {
        guard self.link != nil else {
            onEnd(.failure(.unavailable))
            return nil
        }
        let subscription = RedisSubscription(to: channels, dial: self.dial, onEvent: onEvent, onEnd: onEnd)
        self.subscriptions[ObjectIdentifier(subscription)] = subscription
        return subscription
    }

    func forget(_ subscription: RedisSubscription) {
        self.subscriptions[ObjectIdentifier(subscription)] = nil
    }

    func close() {
        guard let link = self.link else { return }
        self.link = nil
        let wasUp = link.connection != nil
        link.close()
        self.readers.close()
        for subscription in self.subscriptions.values { subscription.end(.failure(.unavailable)) }
        self.subscriptions = [:]
        self.finishWaiters(.failure(.unavailable))
        if wasUp { self.tell(.lost) }
        self.observers = []
    }

    private func heard(_ event: RedisLink.Event) {
        switch event {
        case .up(let connection):
            // What arrives encrypted cannot be left in the socket: the handler in front of us reads as it likes.
            if self.dial.configuration.tls == nil { connection.readLazily() }
            let isReconnect = self.hasConnected
            self.hasConnected = true
            self.counted = 0
            self.outageIsLogged = false
            if isReconnect {
                self.metrics.reconnects.increment()
                self.logger.notice("bus reconnected")
            }
            self.tell(.connected(isReconnect: isReconnect))
            self.finishWaiters(.success(()))
        case .down:
            self.outageIsLogged = true
            self.logger.warning("bus connection lost")
            self.tell(.lost)
        case .attemptFailed(let error):
            guard !self.outageIsLogged else { return }
            self.outageIsLogged = true
            self.logger.warning("bus cannot be reached", [.error: "\(error)"])
        }
    }

    /// Commands are counted once a second: a metric per command would cost more than the command.
    private func measureSoon() {
        self.dial.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(RedisLimits.watchEvery)) {
            guard let link = self.link else { return }
            let (issued, inFlight) = link.connection?.commands ?? (self.counted, 0)
            self.metrics.commands.increment(by: Int(issued - self.counted))
            self.metrics.commandsInFlight.set(inFlight)
            self.counted = issued
            self.measureSoon()
        }
    }

    private func tell(_ event: RedisConnectionEvent) {
        for observer in self.observers { observer(event) }
    }

    private func finishWaiters(_ result: Result<Void, BusError>) {
        let waiters = self.connectWaiters
        self.connectWaiters = []
        for waiter in waiters { waiter.finish(result) }
    }
}

/// Somebody who waits for the first connection. Told once: by the connection or by the clock.
private final class ConnectWaiter {
    private var done: ((Result<Void, BusError>) -> Void)?

    init(_ done: @escaping (Result<Void, BusError>) -> Void) {
        self.done = done
    }

    func finish(_ result: Result<Void, BusError>) {
        self.done?(result)
        self.done = nil
    }
}
