import Bus
import NIOCore

/// The parts of a `RedisBus` that differ with a cluster.
extension RedisBus {
    func readCluster(
        _ positions: [(stream: String, after: EntryID)], limit: Int, blockFor: Duration
    ) async throws(BusError) -> [StreamBatch] {
        guard blockFor > .zero else {
            let bytesMax = max(BusLimits.entryBytesMax, BusLimits.readBytesMax / max(1, positions.count))
            return try await self.askEach(
                positions.map { .read([$0], limit: limit, blockFor: nil, bytesMax: bytesMax) }
            ) { cursor throws(BusError) in try cursor.batches() }.flatMap { $0 }
        }
        let call = NIOLoopBoundBox.makeBoxSendingValue(ReadCall(), eventLoop: self.eventLoop)
        let result: Result<[StreamBatch], BusError> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.onCluster { cluster in
                    call.value.start(on: cluster, positions, limit: limit, blockFor: blockFor) {
                        continuation.resume(returning: $0)
                    }
                }
            }
        } onCancel: {
            self.onCluster { call.value.callOff(on: $0) }
        }
        return try result.get()
    }

    /// Called on the event loop.
    func mayMissListeners(of channel: String) -> Bool {
        self.clusterOnLoop?.mayMissListeners(of: channel) ?? false
    }

    private func onCluster(_ body: @escaping @Sendable (RedisCluster) -> Void) {
        self.onLoop { if let cluster = $0 as? RedisCluster { body(cluster) } }
    }
}

/// One call of `read`, which may be cancelled before it has begun.
private final class ReadCall {
    private var isCalledOff = false
    private var wait: ClusterReads.Wait?

    func start(
        on cluster: RedisCluster, _ positions: [(stream: String, after: EntryID)], limit: Int, blockFor: Duration,
        done: @escaping (Result<[StreamBatch], BusError>) -> Void
    ) {
        guard !self.isCalledOff else { return done(.success([])) }
        self.wait = cluster.read(positions, limit: limit, blockFor: blockFor, done: done)
    }

    func callOff(on cluster: RedisCluster) {
        self.isCalledOff = true
        if let wait = self.wait { cluster.callOff(wait) }
    }
}
