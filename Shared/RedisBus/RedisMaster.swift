import NIOCore

/// All connections to one server but those that subscribe. Lives on its event loop, from `connect` to `close`.
final class RedisMaster {
    let readers: BlockingReaders
    private let dial: RedisDial
    private let onEvent: (RedisLink.Event) -> Void
    private var link: RedisLink?
    /// Commands of the present connection that were counted already.
    private var counted: UInt64 = 0

    /// - Parameter onEvent: told of the connection that carries commands.
    init(dial: RedisDial, onEvent: @escaping (RedisLink.Event) -> Void) {
        self.dial = dial
        self.readers = BlockingReaders(dial: dial)
        self.onEvent = onEvent
    }

    var connection: RedisConnection? { self.link?.connection }

    func connect() {
        let link = RedisLink(dial: self.dial) { event in
            if case .up(let connection) = event {
                self.counted = 0
                // Encrypted bytes cannot be left in the socket: the handler in front of us reads as it likes.
                if self.dial.configuration.tls == nil { connection.readLazily() }
            }
            self.onEvent(event)
        }
        self.link = link
        link.connect()
    }

    func close() {
        self.link?.close()
        self.link = nil
        self.readers.close()
    }

    /// Commands since the last time, and those without an answer.
    func takeCounts() -> (issued: Int, inFlight: Int) {
        guard let (issued, inFlight) = self.connection?.commands else { return (0, 0) }
        defer { self.counted = issued }
        return (Int(issued - self.counted), inFlight)
    }
}
