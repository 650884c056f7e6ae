import Bus
import NIOCore

/// One caller's subscription, on a connection of its own (a connection that subscribes can do little else before
/// RESP3). Lives on its event loop.
final class RedisSubscription: Subscription {
    private let channels: [String]
    private let isSharded: Bool
    private let onEvent: @Sendable (SubscriptionEvent) -> Void
    private let onEnd: (Result<Void, BusError>) -> Void
    private let eventLoop: any EventLoop
    private var link: RedisLink?
    private var isSubscribed = false

    /// - Parameters:
    ///   - isSharded: the channels have slots, all at one master of a cluster.
    ///   - onEnd: called once; no event follows.
    init(
        to channels: [String], isSharded: Bool = false, dial: RedisDial,
        onEvent: @escaping @Sendable (SubscriptionEvent) -> Void,
        onEnd: @escaping (Result<Void, BusError>) -> Void
    ) {
        self.channels = channels
        self.isSharded = isSharded
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
        let subscription = NIOLoopBound((self, connection), eventLoop: self.eventLoop)
        let failed: @Sendable (BusError) -> Void = { error in
            let (subscription, connection) = subscription.value
            // If the server is there and cannot serve, the next connection tries again.
            if case .refused = error { subscription.end(.failure(error)) } else { connection.close() }
        }
        // The server confirms each channel by itself, in order: with the last we hear all of them.
        let confirmed = ReplyHandler.answer { result in
            if case .failure(let error) = result { return failed(error) }
            let (subscription, _) = subscription.value
            guard subscription.link != nil else { return }
            subscription.isSubscribed = true
            subscription.onEvent(.subscribed)
        }
        for (index, channel) in self.channels.enumerated() {
            let handler = index == self.channels.count - 1 ? confirmed : .failure(failed)
            if self.isSharded {
                // Several channels in one command would have to have one slot.
                connection.send(.subscribe([channel], isSharded: true), handler)
            } else if index == 0 {
                connection.send(.subscribe(self.channels, isSharded: false), handler)
            } else {
                connection.expect(handler)
            }
        }
    }

    /// - Returns: false if this is not a message but the answer to a command.
    private func hear(_ reply: borrowing Reply) -> Bool {
        var cursor = (copy reply).cursor
        guard let parts = try? cursor.array(), parts == 3,
            (try? cursor.isText(self.isSharded ? "smessage" : "message")) == true,
            let channel = try? cursor.string(), let bytes = try? cursor.bytes()
        else { return false }
        if self.link != nil { self.onEvent(.notice(channel: channel, bytes: bytes)) }
        return true
    }
}
