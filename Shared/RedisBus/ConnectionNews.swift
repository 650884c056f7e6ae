import Bus
import NIOCore

/// Observers of the bus's connection, and callers that wait for it. Lives on its event loop.
final class ConnectionNews {
    private let eventLoop: any EventLoop
    private(set) var isUp = false
    private var wasUp = false
    private var observers: [@Sendable (RedisConnectionEvent) -> Void] = []
    private var waiters: [Waiter] = []

    init(eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    func observe(_ observer: @escaping @Sendable (RedisConnectionEvent) -> Void) {
        self.observers.append(observer)
        if self.isUp { observer(.connected(isReconnect: false)) }
    }

    func whenUp(within timeout: Duration, _ done: @escaping (Result<Void, BusError>) -> Void) {
        if self.isUp { return done(.success(())) }
        let waiter = Waiter(done)
        self.waiters.append(waiter)
        self.eventLoop.assumeIsolated().scheduleTask(in: TimeAmount(timeout)) {
            self.waiters.removeAll { $0 === waiter }
            waiter.finish(.failure(.unavailable))
        }
    }

    /// - Returns: whether it was up before.
    @discardableResult func rise() -> Bool {
        let isReconnect = self.wasUp
        (self.isUp, self.wasUp) = (true, true)
        self.tell(.connected(isReconnect: isReconnect))
        self.finishWaiters(.success(()))
        return isReconnect
    }

    func fall() {
        guard self.isUp else { return }
        self.isUp = false
        self.tell(.lost)
    }

    func close() {
        self.finishWaiters(.failure(.unavailable))
        self.fall()
        self.observers = []
    }

    private func tell(_ event: RedisConnectionEvent) {
        for observer in self.observers { observer(event) }
    }

    private func finishWaiters(_ result: Result<Void, BusError>) {
        let waiters = self.waiters
        self.waiters = []
        for waiter in waiters { waiter.finish(result) }
    }

    /// Told once: by the connection or by the clock.
    private final class Waiter {
        private var done: ((Result<Void, BusError>) -> Void)?

        init(_ done: @escaping (Result<Void, BusError>) -> Void) { self.done = done }

        func finish(_ result: Result<Void, BusError>) {
            self.done?(result)
            self.done = nil
        }
    }
}
