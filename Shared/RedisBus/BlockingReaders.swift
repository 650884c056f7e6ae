import Bus
import Contract
import NIOCore

/// Connections on which a command may wait at the server: one for each concurrent caller, made when first needed and
/// kept for the next. Lives on its event loop.
final class BlockingReaders {
    private let dial: RedisDial
    /// All connections, lent or idle.
    private var open: [ObjectIdentifier: RedisConnection] = [:]
    private var idle: [RedisConnection] = []
    /// Connections in the making.
    private var connecting = 0
    private var isClosed = false
    /// Attempts in a row that failed.
    private var failures = 0
    private var random = SystemRandomNumberGenerator()
    /// After a failed attempt no other is made before this, so that a caller in a loop does not spin.
    private var notBefore = NIODeadline.now()

    init(dial: RedisDial) {
        self.dial = dial
    }

    /// - Parameter ready: called once, with a connection to be given back by `giveBack`, or why there is none.
    func lend(_ ready: @escaping (Result<RedisConnection, BusError>) -> Void) {
        guard !self.isClosed else { return ready(.failure(.unavailable)) }
        if let connection = self.idle.popLast() { return ready(.success(connection)) }
        guard self.open.count + self.connecting < RedisLimits.blockingReadersMax else { return ready(.failure(.full)) }
        self.connecting += 1
        let loop = self.dial.eventLoop.assumeIsolated()
        guard self.notBefore > .now() else { return self.connect(ready) }
        loop.scheduleTask(deadline: self.notBefore) { self.connect(ready) }
    }

    func giveBack(_ connection: RedisConnection) {
        if connection.isOpen { self.idle.append(connection) }
    }

    /// Ends all connections; calls under way on them fail.
    func close() {
        self.isClosed = true
        for connection in Array(self.open.values) { connection.close() }
    }

    private func connect(_ ready: @escaping (Result<RedisConnection, BusError>) -> Void) {
        self.dial.connect { result in
            self.connecting -= 1
            switch result {
            case .success(let connection) where connection.isOpen && !self.isClosed:
                self.failures = 0
                self.open[ObjectIdentifier(connection)] = connection
                connection.onClose = { [unowned connection] in
                    self.open[ObjectIdentifier(connection)] = nil
                    self.idle.removeAll { $0 === connection }
                }
                ready(.success(connection))
            case .success(let connection):
                connection.close()
                ready(.failure(.unavailable))
            case .failure(let error):
                self.failures += 1
                self.notBefore =
                    .now() + TimeAmount(RedisLimits.reconnect.delay(after: self.failures, using: &self.random))
                ready(.failure(error))
            }
        }
    }
}
