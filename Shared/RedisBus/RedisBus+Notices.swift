package import Bus
import NIOCore

extension RedisBus {
    package func publish(
        _ bytes: [UInt8], to channel: String, heard: (@Sendable (Result<Int, BusError>) -> Void)?
    ) {
        guard let heard else { return self.send(.publish(bytes, channel: channel), .nobody) }
        self.send(
            .publish(bytes, channel: channel),
            .news { result in
                heard(result.decoded { cursor throws(BusError) in try cursor.integer() })
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
    private var subscription: RedisSubscription?

    func start(
        _ channels: [String], on core: RedisCore, onEvent: @escaping @Sendable (SubscriptionEvent) -> Void,
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
        self.subscription?.end()
    }
}
