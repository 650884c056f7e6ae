import Bus
import ClusterContract
import Contract
import NIOCore
import Synchronization
import TestKit

/// A `MemoryBus` that calls back on the gateway's event loop, as the real bus does.
final class LoopBus: Bus {
    let memory = MemoryBus()
    private let loop: any EventLoop
    private let refusesAppend = Mutex(false)
    private let asked = Mutex<[[String]]>([])
    private let silence = Mutex((isSilent: false, waiting: 0))
    private let lost = Mutex<(@Sendable (_ channel: String) -> Bool)?>(nil)
    private let heldLeases = Mutex<[CheckedContinuation<Void, Never>]?>(nil)

    init(loop: any EventLoop) { self.loop = loop }

    // MARK: What the test does from its side

    /// Publishes as another service would, and returns when it was heard.
    func tell<N: Notice>(_ notice: N, to channel: ChannelName<N>) async throws {
        let bytes = notice.encoded()
        try await self.loop.submit { self.memory.publish(bytes, to: channel.name, heard: nil) }.get()
    }

    /// The next Job is lost, and nothing else.
    func refuseNextAppend() { self.refusesAppend.withLock { $0 = true } }

    /// Notices on these channels are lost; `nil`: none.
    func lose(_ isLost: (@Sendable (_ channel: String) -> Bool)?) { self.lost.withLock { $0 = isLost } }

    /// Leases are answered no more, until they are released.
    func holdLeases() { self.heldLeases.withLock { $0 = [] } }

    func untilLeaseIsHeld() async throws {
        while self.heldLeases.withLock({ $0?.isEmpty != false }) {
            try Task.checkCancellation()
            await Task.yield()
        }
    }

    func releaseLeases() {
        let held = self.heldLeases.withLock { held in
            defer { held = nil }
            return held ?? []
        }
        for lease in held { lease.resume() }
    }

    func goAway() async throws { try await self.loop.submit { self.memory.goAway() }.get() }
    func comeBack() async throws { try await self.loop.submit { self.memory.comeBack() }.get() }

    /// Takes every write, and answers no read until `speak()` or until the reader is cancelled.
    func fallSilent() { self.silence.withLock { $0.isSilent = true } }
    func speak() { self.silence.withLock { $0.isSilent = false } }

    /// Reads that wait for the end of the silence.
    var waiting: Int { self.silence.withLock { $0.waiting } }

    private func answers() async throws(BusError) {
        guard self.silence.withLock({ $0.isSilent }) else { return }
        self.silence.withLock { $0.waiting += 1 }
        defer { self.silence.withLock { $0.waiting -= 1 } }
        while self.silence.withLock({ $0.isSilent }) {
            guard (try? await Task.sleep(for: .milliseconds(1))) != nil else { throw .unavailable }
        }
    }

    /// The streams of each question how much waits in them.
    var depthsAsked: [[String]] { self.asked.withLock { $0 } }

    // MARK: Bus

    func append(_ bytes: [UInt8], to stream: String, failed: @escaping @Sendable (BusError) -> Void) {
        let isRefused = self.refusesAppend.withLock { refuses in
            defer { refuses = false }
            return refuses
        }
        if isRefused { return self.loop.execute { failed(.unavailable) } }
        self.memory.append(bytes, to: stream) { error in self.loop.execute { failed(error) } }
    }

    func append(_ bytes: [UInt8], to stream: String) async throws(BusError) {
        try await self.memory.append(bytes, to: stream)
    }

    func read(
        _ positions: [(stream: String, after: EntryID)], limit: Int, blockFor: Duration
    ) async throws(BusError) -> [StreamBatch] {
        try await self.memory.read(positions, limit: limit, blockFor: blockFor)
    }

    func trim(_ stream: String, through id: EntryID) { self.memory.trim(stream, through: id) }

    func take(
        from stream: String, group: String, consumer: String, limit: Int, blockFor: Duration
    ) async throws(BusError) -> [StreamEntry] {
        try await self.memory.take(from: stream, group: group, consumer: consumer, limit: limit, blockFor: blockFor)
    }

    func claim(
        from stream: String, group: String, consumer: String, idle: Duration, limit: Int
    ) async throws(BusError) -> [StreamEntry] {
        try await self.memory.claim(from: stream, group: group, consumer: consumer, idle: idle, limit: limit)
    }

    func acknowledge(_ ids: [EntryID], in stream: String, group: String) {
        self.memory.acknowledge(ids, in: stream, group: group)
    }

    func time() async throws(BusError) -> UInt64 { try await self.memory.time() }

    func depth(of streams: [String]) async throws(BusError) -> [Int] {
        self.asked.withLock { $0.append(streams) }
        try await self.answers()
        return try await self.memory.depth(of: streams)
    }

    func publish(_ bytes: [UInt8], to channel: String, heard: (@Sendable (Result<Int, BusError>) -> Void)?) {
        if self.lost.withLock({ $0?(channel) ?? false }) {
            heard?(.success(0))
            return
        }
        self.loop.execute { self.memory.publish(bytes, to: channel, heard: heard) }
    }

    func subscribe(
        to channels: [String], onEvent: @escaping @Sendable (SubscriptionEvent) -> Void
    ) async throws(BusError) {
        try await self.memory.subscribe(to: channels) { event in
            if self.loop.inEventLoop { onEvent(event) } else { self.loop.execute { onEvent(event) } }
        }
    }

    func get(_ key: KeyName) async throws(BusError) -> [UInt8]? {
        try await self.answers()
        return try await self.memory.get(key)
    }

    func get(_ keys: [KeyName]) async throws(BusError) -> [[UInt8]?] {
        try await self.answers()
        return try await self.memory.get(keys)
    }

    func take(_ key: KeyName) async throws(BusError) -> [UInt8]? { try await self.memory.take(key) }

    func set(_ key: KeyName, to value: [UInt8], for timeToLive: Duration) async throws(BusError) {
        try await self.memory.set(key, to: value, for: timeToLive)
    }

    func setWithoutWaiting(_ key: KeyName, to value: [UInt8], for timeToLive: Duration) {
        self.memory.setWithoutWaiting(key, to: value, for: timeToLive)
    }

    func exchangeWithoutWaiting(
        _ key: KeyName, for value: [UInt8], for timeToLive: Duration,
        heard: @escaping @Sendable (Result<[UInt8]?, BusError>) -> Void
    ) {
        self.memory.exchangeWithoutWaiting(key, for: value, for: timeToLive) { found in
            self.loop.execute { heard(found) }
        }
    }

    func delete(_ keys: [KeyName]) async throws(BusError) { try await self.memory.delete(keys) }
    func deleteWithoutWaiting(_ key: KeyName, ifStill value: [UInt8]) {
        self.memory.deleteWithoutWaiting(key, ifStill: value)
    }
    func admit(_ key: KeyName, _ allowance: Allowance) async throws(BusError) -> Int64? {
        try await self.memory.admit(key, allowance)
    }

    func lease(_ key: KeyName, _ request: RateRequest) async throws(BusError) -> RateGrant {
        await withCheckedContinuation { continuation in
            let isHeld = self.heldLeases.withLock { held in
                held?.append(continuation)
                return held != nil
            }
            if !isHeld { continuation.resume() }
        }
        return try await self.memory.lease(key, request)
    }

    func extendWithoutWaiting(_ keys: [KeyName], for timeToLive: Duration) {
        self.memory.extendWithoutWaiting(keys, for: timeToLive)
    }
}
