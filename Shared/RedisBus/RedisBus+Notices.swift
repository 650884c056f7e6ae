package import Bus
import NIOCore

extension RedisBus {
    package func publish(
        _ bytes: [UInt8], to channel: String, heard: (@Sendable (Result<Int, BusError>) -> Void)?
    ) {
        let command = RedisCommand.publish(bytes, channel: channel, isSharded: self.isCluster)
        guard let heard else { return self.send(command, .nobody) }
        self.send(
            command,
            .news { result in
                let count = result.decoded { cursor throws(BusError) in try cursor.integer() }
                if case .success(0) = count, self.mayMissListeners(of: channel) { return heard(.failure(.unavailable)) }
                heard(count)
            })
    }

    package func subscribe(
        to channels: [String], onEvent: @escaping @Sendable (SubscriptionEvent) -> Void
    ) async throws(BusError) {
        precondition(!channels.isEmpty)
        let call = NIOLoopBoundBox.makeBoxSendingValue(SubscribeCall(), eventLoop: self.eventLoop)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Result<Void, BusError>, Never>) in
                self.onLoop { core in
                    call.value.start(channels, on: core, onEvent: onEvent) { continuation.resume(returning: $0) }
                }
            }
        } onCancel: {
            self.eventLoop.execute { call.value.callOff() }
        }
        try result.get()
    }
}

/// One call of `subscribe`, which may be cancelled before it has begun.
private final class SubscribeCall {
    private var isCalledOff = false
    private var subscription: (any Subscription)?

    func start(
        _ channels: [String], on core: any RedisServers, onEvent: @escaping @Sendable (SubscriptionEvent) -> Void,
        done: @escaping (Result<Void, BusError>) -> Void
    ) {
        guard !self.isCalledOff else { return done(.success(())) }
        self.subscription = core.subscribe(to: channels, onEvent: onEvent) { result in
            if let subscription = self.subscription { core.forget(subscription) }
            self.subscription = nil
            done(result)
        }
    }

    func callOff() {
        self.isCalledOff = true
        self.subscription?.end(.success(()))
    }
}
