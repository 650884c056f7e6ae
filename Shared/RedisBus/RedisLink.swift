import Bus
import Contract
import NIOCore

/// Keeps one connection up: connects, and connects again after each loss. Lives on its event loop.
final class RedisLink {
    enum Event {
        /// Commands can be sent.
        case up(RedisConnection)
        /// The connection is gone; what was under way on it has failed.
        case down
        /// An attempt to connect failed; the next follows.
        case attemptFailed(BusError)
    }

    private enum State {
        case idle
        /// An attempt is under way. Goes to `up` or `resting`.
        case connecting
        /// Until the next attempt.
        case resting(Scheduled<Void>)
        case up(RedisConnection)
        /// Terminal.
        case closed
    }

    private let dial: RedisDial
    private let onEvent: (Event) -> Void
    private var state = State.idle
    /// Attempts in a row that failed, and the end of a connection.
    private var failures = 0
    private var random = SystemRandomNumberGenerator()

    init(dial: RedisDial, onEvent: @escaping (Event) -> Void) {
        self.dial = dial
        self.onEvent = onEvent
    }

    var connection: RedisConnection? {
        if case .up(let connection) = self.state { connection } else { nil }
    }

    func connect() {
        self.state = .connecting
        self.dial.connect { result in
            guard case .connecting = self.state else {
                // Closed meanwhile.
                if case .success(let connection) = result { connection.close() }
                return
            }
            switch result {
            case .success(let connection) where connection.isOpen: self.rise(connection)
            case .success: self.rest(after: .unavailable)
            case .failure(let error): self.rest(after: error)
            }
        }
    }

    /// Nothing is heard of this link any more, not even `down`.
    func close() {
        let old = self.state
        self.state = .closed
        switch old {
        case .resting(let attempt): attempt.cancel()
        case .up(let connection): connection.close()
        case .idle, .connecting, .closed: break
        }
    }

    private func rise(_ connection: RedisConnection) {
        self.state = .up(connection)
        self.failures = 0
        connection.onClose = { self.fall() }
        connection.watchForReplies()
        self.onEvent(.up(connection))
    }

    private func fall() {
        guard case .up = self.state else { return }
        self.scheduleAttempt()
        self.onEvent(.down)
    }

    private func rest(after error: BusError) {
        self.scheduleAttempt()
        self.onEvent(.attemptFailed(error))
    }

    private func scheduleAttempt() {
        self.failures += 1
        let delay = TimeAmount(RedisLimits.reconnect.delay(after: self.failures, using: &self.random))
        self.state = .resting(
            self.dial.eventLoop.assumeIsolated().scheduleTask(in: delay) {
                if case .resting = self.state { self.connect() }
            })
    }
}
