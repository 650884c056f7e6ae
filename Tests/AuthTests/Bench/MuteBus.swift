import Bus
import TestKit

/// Takes Jobs as any bus, and loses whatever is published.
struct MuteBus: JobBus, NoticeBus {
    private let bus: MemoryBus
    private let asked = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(1))

    init(_ bus: MemoryBus) { self.bus = bus }

    /// Returns once something was published and lost.
    func untilAsked() async { for await _ in self.asked.stream { break } }

    func publish(_ bytes: [UInt8], to channel: String, heard: (@Sendable (Result<Int, BusError>) -> Void)?) {
        heard?(.failure(.unavailable))
        self.asked.continuation.yield()
    }

    func subscribe(
        to channels: [String], onEvent: @escaping @Sendable (SubscriptionEvent) -> Void
    ) async throws(BusError) {
        try await self.bus.subscribe(to: channels, onEvent: onEvent)
    }

    func append(_ bytes: [UInt8], to stream: String, failed: @escaping @Sendable (BusError) -> Void) {
        self.bus.append(bytes, to: stream, failed: failed)
    }

    func append(_ bytes: [UInt8], to stream: String) async throws(BusError) {
        try await self.bus.append(bytes, to: stream)
    }

    func read(
        _ positions: [(stream: String, after: EntryID)], limit: Int, blockFor: Duration
    ) async throws(BusError) -> [StreamBatch] {
        try await self.bus.read(positions, limit: limit, blockFor: blockFor)
    }

    func trim(_ stream: String, through id: EntryID) { self.bus.trim(stream, through: id) }

    func take(
        from stream: String, group: String, consumer: String, limit: Int, blockFor: Duration
    ) async throws(BusError) -> [StreamEntry] {
        try await self.bus.take(from: stream, group: group, consumer: consumer, limit: limit, blockFor: blockFor)
    }

    func claim(
        from stream: String, group: String, consumer: String, idle: Duration, limit: Int
    ) async throws(BusError) -> [StreamEntry] {
        try await self.bus.claim(from: stream, group: group, consumer: consumer, idle: idle, limit: limit)
    }

    func acknowledge(_ ids: [EntryID], in stream: String, group: String) {
        self.bus.acknowledge(ids, in: stream, group: group)
    }

    func time() async throws(BusError) -> UInt64 { try await self.bus.time() }

    func depth(of streams: [String]) async throws(BusError) -> [Int] { try await self.bus.depth(of: streams) }
}
