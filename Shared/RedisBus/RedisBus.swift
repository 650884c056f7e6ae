package import Bus
package import Logging
package import NIOCore
import Synchronization
import Telemetry

/// A change of the connection that carries commands.
package enum RedisConnectionEvent: Sendable, Equatable {
    /// - isReconnect: there was a connection before. State that this process had announced in Redis may be gone:
    ///   announce it again.
    case connected(isReconnect: Bool)
    case lost
}

/// The `Bus` on Redis, or on a Redis Cluster if the configuration names nodes. Everything happens on one event loop: commands issued in one turn of it leave in one write, and
/// a caller already on that loop pays for nothing but the bytes.
///
/// It keeps trying to connect from its making until `close()`; commands issued meanwhile fail with `.unavailable`.
package final class RedisBus: Bus {
    package let eventLoop: any EventLoop
    private let core: NIOLoopBoundBox<any RedisServers>
    private let status: Status
    /// Several names in one command must have one slot: what asks for several asks for each.
    let isCluster: Bool

    /// - Parameter eventLoop: where `failed`, `heard`, `onEvent` and the like are called. A process that serves
    ///   sockets passes the loop they live on.
    package init(configuration: RedisConfiguration, eventLoop: any EventLoop, logger: Logger) {
        self.eventLoop = eventLoop
        self.isCluster = !configuration.nodes.isEmpty
        let status = Status()
        self.status = status
        let servers: any RedisServers =
            configuration.nodes.isEmpty
            ? RedisCore(dial: RedisDial(configuration: configuration, eventLoop: eventLoop), logger: logger)
            : RedisCluster(configuration: configuration, eventLoop: eventLoop, logger: logger) { slots in
                status.replacements.withLock { $0.note(slots) }
            }
        self.core = .makeBoxSendingValue(servers, eventLoop: eventLoop)
        // Not the bus itself: a weak reference would make every retain of it slow.
        self.onConnectionEvent { event in status.isConnected.withLock { $0 = event != .lost } }
        self.onLoop { $0.start() }
    }

    deinit {
        guard !self.status.isClosed.withLock({ $0 }) else { return }
        let core = self.core
        self.eventLoop.execute { core.value.close() }
    }

    /// State that other threads may read.
    private final class Status: Sendable {
        let isConnected = Mutex(false)
        /// For a cluster: by slot.
        let replacements = Mutex(Replacements(parts: HashSlot.count, part: HashSlot.of))
        let isClosed = Mutex(false)
    }

    /// Whether commands can be sent now. A server that stops answering is found out within
    /// `RedisLimits.answerMax` and one look.
    package var isConnected: Bool { self.status.isConnected.withLock { $0 } }

    package var replacements: Replacements {
        self.isCluster ? self.status.replacements.withLock { $0 } : .none
    }

    /// Calls `handler` on the event loop at every change from now on; at once if a connection is up already.
    package func onConnectionEvent(_ handler: @escaping @Sendable (RedisConnectionEvent) -> Void) {
        self.onLoop { $0.observe(handler) }
    }

    /// - Throws: `.unavailable` if there is still no connection after `timeout`.
    package func waitUntilConnected(for timeout: Duration) async throws(BusError) {
        let result = await withCheckedContinuation { continuation in
            self.onLoop { $0.whenConnected(within: timeout) { continuation.resume(returning: $0) } }
        }
        try result.get()
    }

    /// Ends all connections, subscriptions and waiting reads; what is under way fails with `.unavailable`, and so does
    /// whatever is issued later.
    package func close() async {
        self.status.isClosed.withLock { $0 = true }
        await withCheckedContinuation { continuation in
            self.onLoop {
                $0.close()
                continuation.resume()
            }
        }
    }

    // MARK: For the extensions, one for each half of the port

    /// Sends without a hop if the caller is on the event loop, else with one.
    func send(_ command: RedisCommand, _ handler: ReplyHandler) {
        if self.eventLoop.inEventLoop {
            self.core.value.send(command, handler)
        } else {
            self.eventLoop.execute { self.core.value.send(command, handler) }
        }
    }

    /// Sends and waits for what `decode` makes of the answer.
    func ask<T: Sendable>(
        _ command: RedisCommand, decode: @escaping @Sendable (inout ReplyCursor) throws(BusError) -> T
    ) async throws(BusError) -> T {
        let result = await withCheckedContinuation { continuation in
            self.send(command, .answer { continuation.resume(returning: $0.decoded(decode)) })
        }
        return try result.get()
    }

    /// As `ask`, of several commands that leave together.
    /// - Returns: in their order; the first error in that order if there is one.
    func askEach<T: Sendable>(
        _ commands: [RedisCommand], decode: @escaping @Sendable (inout ReplyCursor) throws(BusError) -> T
    ) async throws(BusError) -> [T] {
        let result = await withCheckedContinuation { continuation in
            self.sendEach(commands, areAwaited: true, decode: decode) { continuation.resume(returning: $0) }
        }
        return try result.get()
    }

    /// As `askEach`. `done` is called once, on the event loop.
    func sendEach<T: Sendable>(
        _ commands: [RedisCommand], areAwaited: Bool,
        decode: @escaping @Sendable (inout ReplyCursor) throws(BusError) -> T,
        done: @escaping @Sendable (Result<[T], BusError>) -> Void
    ) {
        guard !commands.isEmpty else { return done(.success([])) }
        self.onLoop { servers in
            let results = NIOLoopBoundBox<[Int: Result<T, BusError>]>([:], eventLoop: self.eventLoop)
            for (index, command) in commands.enumerated() {
                let heard: @Sendable (Result<Reply, BusError>) -> Void = { reply in
                    results.value[index] = reply.decoded(decode)
                    guard results.value.count == commands.count else { return }
                    done(
                        Result { () throws(BusError) in
                            var all: [T] = []
                            for index in commands.indices { all.append(try results.value[index]!.get()) }
                            return all
                        })
                }
                servers.send(command, areAwaited ? .answer(heard) : .news(heard))
            }
        }
    }

    /// As `ask`, for a command that the server may block for as long as `blockFor`.
    /// - Returns: nil if the task was cancelled.
    func askBlocking<T: Sendable>(
        _ command: RedisCommand, blockFor: Duration,
        decode: @escaping @Sendable (inout ReplyCursor) throws(BusError) -> T
    ) async throws(BusError) -> T? {
        let call = NIOLoopBoundBox.makeBoxSendingValue(BlockingCall(), eventLoop: self.eventLoop)
        let result: Result<T?, BusError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.onLoop { servers in
                    guard let readers = servers.readers(for: command) else {
                        return continuation.resume(returning: .failure(.unavailable))
                    }
                    call.value.start(
                        command, blockFor: blockFor, on: readers, eventLoop: self.eventLoop
                    ) { outcome in
                        continuation.resume(
                            returning: outcome.flatMap { reply in
                                guard let reply else { return .success(nil) }
                                return Result.success(reply).decoded(decode).map { $0 }
                            })
                    }
                }
            }
        } onCancel: {
            self.eventLoop.execute { call.value.callOff() }
        }
        return try result.get()
    }

    /// Only on the event loop. Nil with a single server.
    var clusterOnLoop: RedisCluster? { self.core.value as? RedisCluster }

    func onLoop(_ body: @escaping @Sendable (any RedisServers) -> Void) {
        if self.eventLoop.inEventLoop {
            body(self.core.value)
        } else {
            self.eventLoop.execute { body(self.core.value) }
        }
    }
}

extension Result<Reply, BusError> {
    func decoded<T>(_ decode: (inout ReplyCursor) throws(BusError) -> T) -> Result<T, BusError> {
        self.flatMap { reply in
            Result<T, BusError> { () throws(BusError) -> T in
                var cursor = reply.cursor
                return try decode(&cursor)
            }
        }
    }
}
