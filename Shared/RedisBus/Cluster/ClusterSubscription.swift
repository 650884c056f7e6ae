import Bus
import NIOCore

/// One caller's subscription to channels of a cluster: a connection to each master that has some of them.
/// Lives on its event loop.
final class ClusterSubscription: Subscription {
    private struct Part {
        let channels: [String]
        var subscription: RedisSubscription?
        var isUp = false
    }

    private let channels: [String]
    private let cluster: RedisCluster
    private let onEvent: @Sendable (SubscriptionEvent) -> Void
    private var onEnd: ((Result<Void, BusError>) -> Void)?
    private var parts: [RedisAddress: Part] = [:]
    private var isUp = false

    /// - Parameter onEnd: called once; no event follows.
    init(
        to channels: [String], cluster: RedisCluster, onEvent: @escaping @Sendable (SubscriptionEvent) -> Void,
        onEnd: @escaping (Result<Void, BusError>) -> Void
    ) {
        self.channels = channels
        self.cluster = cluster
        self.onEvent = onEvent
        self.onEnd = onEnd
    }

    /// Subscribes where the channels are now. A master whose channels are the same as before is not interrupted.
    func regroup() {
        guard self.onEnd != nil else { return }
        var channels: [RedisAddress: [String]] = [:]
        for channel in self.channels {
            // Unknown: the next topology says.
            guard let address = self.cluster.master(of: channel) else { continue }
            channels[address, default: []].append(channel)
        }
        for (address, part) in self.parts where channels[address] != part.channels {
            self.parts[address] = nil
            part.subscription?.end()
        }
        for (address, channels) in channels where self.parts[address] == nil { self.listen(to: channels, at: address) }
        self.tell()
    }

    private func listen(to channels: [String], at address: RedisAddress) {
        self.parts[address] = Part(channels: channels)
        let dial = self.cluster.dial(to: address)
        let whole = NIOLoopBound(self, eventLoop: dial.eventLoop)
        let onEvent = self.onEvent
        self.parts[address]?.subscription = RedisSubscription(
            to: channels, isSharded: true, dial: dial,
            onEvent: { event in
                switch event {
                case .notice: onEvent(event)
                case .subscribed: whole.value.part(at: address, isUp: true)
                case .subscriptionLost: whole.value.part(at: address, isUp: false)
                }
            },
            onEnd: { result in
                // Refused, not merely away. Ended by ourselves it is no news.
                if case .failure(.refused) = result { self.end(result) }
            })
    }

    private func part(at address: RedisAddress, isUp: Bool) {
        self.parts[address]?.isUp = isUp
        self.tell()
    }

    private func tell() {
        let all = self.parts.values
        let isUp = all.reduce(0) { $0 + ($1.isUp ? $1.channels.count : 0) } == self.channels.count
        guard isUp != self.isUp else { return }
        self.isUp = isUp
        self.onEvent(isUp ? .subscribed : .subscriptionLost)
    }

    func end(_ result: Result<Void, BusError>) {
        guard let onEnd = self.onEnd else { return }
        self.onEnd = nil
        let parts = self.parts
        self.parts = [:]
        for part in parts.values { part.subscription?.end() }
        onEnd(result)
    }
}
