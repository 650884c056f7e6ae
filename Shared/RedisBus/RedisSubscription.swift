import Bus
import NIOCore

/// One caller's subscription, on a connection of its own (a connection that subscribes can do little else before
/// RESP3). Lives on its event loop.
final class RedisSubscription {
    private let channels: [String]
    private let onEvent: @Sendable (SubscriptionEvent) -> Void
    private let onEnd: (Result<Void, BusError>) -> Void
    private let eventLoop: any EventLoop
    private var link: RedisLink?
    private var isSubscribed = false

    /// - Parameter onEnd: called once; no event follows.
    init(
        to channels: [String], dial: RedisDial, onEvent: @escaping @Sendable (SubscriptionEvent) -> Void,
        onEnd: @escaping (Result<Void, BusError>) -> Void
    ) {
        self.channels = channels
        self.onEvent = onEvent
        self.onEnd = onEnd
        self.eventLoop = dial.eventLoop
        let link = RedisLink(dial: dial) { self.heard($0) }
        self.link = link
        link.connect()
    }

    func end(_ result: Result<Void, BusError> = .success(())) {
        guard let link = self.link else { return }
        self.link = nil
        link.close()
        self.onEnd(result)
    }

    private func heard(_ event: RedisLink.Event) {
        switch event {
        case .up(let connection): self.subscribe(on: connection)
        case .attemptFailed: break
        case .down:
            guard self.isSubscribed else { return }
            self.isSubscribed = false
            self.onEvent(.subscriptionLost)
        }
    }

    private func subscribe(on connection: RedisConnection) {
        connection.onNews = { [unowned self] in self.hear($0) }
        let subscription = NIOLoopBound(self, eventLoop: self.eventLoop)
        // The server confirms each channel by itself, in order: with the last we hear all of them.
        let confirmed = ReplyHandler.answer { result in
            let subscription = subscription.value
            switch result {
            case .success:
                guard subscription.link != nil else { return }
                subscription.isSubscribed = true
                subscription.onEvent(.subscribed)
            case .failure(.refused(let reason)): subscription.end(.failure(.refused(reason)))
            case .failure: break
            }
        }
        let count = self.channels.count
        connection.send(.subscribe(self.channels), count == 1 ? confirmed : .nobody)
        for index in 1..<max(count, 1) { connection.expect(index == count - 1 ? confirmed : .nobody) }
    }

    /// - Returns: false if this is not a message but the answer to a command.
    private func hear(_ reply: borrowing Reply) -> Bool {
        var cursor = (copy reply).cursor
        guard let parts = try? cursor.array(), parts == 3, (try? cursor.isText("message")) == true,
            let channel = try? cursor.string(), let bytes = try? cursor.bytes()
        else { return false }
        if self.link != nil { self.onEvent(.notice(channel: channel, bytes: bytes)) }
        return true
    }
}
