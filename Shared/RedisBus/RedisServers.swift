import Bus

/// The servers behind a `RedisBus`: one server, or the masters of a cluster. Lives on its event loop.
protocol RedisServers: AnyObject {
    func start()
    /// Writes `command` at the end of this turn. `handler` is told at once if that cannot be.
    func send(_ command: RedisCommand, _ handler: ReplyHandler)
    /// Connections for a command that may wait at its server; `nil` if nobody serves it now.
    func readers(for command: RedisCommand) -> BlockingReaders?
    func observe(_ observer: @escaping @Sendable (RedisConnectionEvent) -> Void)
    func whenConnected(within timeout: Duration, _ done: @escaping (Result<Void, BusError>) -> Void)
    /// - Returns: nil if `onEnd` was told already.
    func subscribe(
        to channels: [String], onEvent: @escaping @Sendable (SubscriptionEvent) -> Void,
        onEnd: @escaping (Result<Void, BusError>) -> Void
    ) -> (any Subscription)?
    func forget(_ subscription: any Subscription)
    func close()
}

/// One caller's subscription. Lives on its event loop.
protocol Subscription: AnyObject {
    func end(_ result: Result<Void, BusError>)
}
