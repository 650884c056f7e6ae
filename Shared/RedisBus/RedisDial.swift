import Bus
import NIOCore
import NIOPosix
import Telemetry

/// Makes connections that are ready for commands. Lives on its event loop.
struct RedisDial {
    let configuration: RedisConfiguration
    let eventLoop: any EventLoop
    let address: RedisAddress
    /// Told of an answer by which a node of a cluster says that it is the wrong one, or serves nothing now.
    let onMisrouted: (() -> Void)?

    /// - Parameter address: the configuration's if it is nil.
    init(
        configuration: RedisConfiguration, eventLoop: any EventLoop, address: RedisAddress? = nil,
        onMisrouted: (() -> Void)? = nil
    ) {
        self.configuration = configuration
        self.eventLoop = eventLoop
        self.address = address ?? RedisAddress(host: configuration.host, port: configuration.port)
        self.onMisrouted = onMisrouted
    }

    /// Connects, authenticates and waits for a first answer: a server that is stopped, or still loading its data,
    /// takes connections all the same.
    /// - Parameter done: called once, within `RedisLimits.connectMax`.
    func connect(_ done: @escaping (Result<RedisConnection, BusError>) -> Void) {
        let attempt = Attempt(RedisConnection(eventLoop: self.eventLoop), done)
        attempt.connection.onMisrouted = self.onMisrouted
        let loop = self.eventLoop.assumeIsolated()
        attempt.deadline = loop.scheduleTask(in: TimeAmount(RedisLimits.connectMax)) {
            attempt.finish(.failure(.unavailable))
        }

        attempt.connection.onOpen = {
            attempt.greet(user: self.configuration.user, password: self.configuration.password)
        }
        let connection = NIOLoopBound(attempt.connection, eventLoop: self.eventLoop)
        let (configuration, address) = (self.configuration, self.address)
        let dialled = ClientBootstrap(group: self.eventLoop)
            .connectTimeout(TimeAmount(RedisLimits.connectMax))
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    if let tls = configuration.tls {
                        try channel.pipeline.syncOperations.addHandler(tls.handler(host: address.host))
                    }
                    try channel.pipeline.syncOperations.addHandler(connection.value)
                }
            }
            .connect(host: address.host, port: address.port)

        dialled.assumeIsolated().whenComplete { result in
            if case .failure = result { attempt.finish(.failure(.unavailable)) }
        }
    }
}

/// One attempt to connect, until it has succeeded or failed.
private final class Attempt {
    let connection: RedisConnection
    var deadline: Scheduled<Void>?
    /// Nil once told.
    private var done: ((Result<RedisConnection, BusError>) -> Void)?

    init(_ connection: RedisConnection, _ done: @escaping (Result<RedisConnection, BusError>) -> Void) {
        self.connection = connection
        self.done = done
    }

    func greet(user: String?, password: Secret?) {
        let attempt = NIOLoopBound(self, eventLoop: self.connection.eventLoop)
        if let password {
            self.connection.send(
                .authenticate(user: user, password: password), .failure { attempt.value.finish(.failure($0)) })
        }
        self.connection.send(.ping, .answer { attempt.value.finish($0.map { _ in attempt.value.connection }) })
    }

    func finish(_ result: Result<RedisConnection, BusError>) {
        guard let done = self.done else { return }
        self.done = nil
        self.deadline?.cancel()
        if case .failure = result { self.connection.close() }
        done(result)
    }
}
