import Bus
import ClusterContract
import Contract
import Synchronization

@testable import TestKit

/// The bus of one process.
final class SimulatedBus: Bus, @unchecked Sendable {
    private let link: RedisLink
    private let server: SimulatedRedis
    private let mutation: Mutation?
    private let loop: SimulatedLoop?

    /// - Parameter loop: callbacks run on it.
    init(_ link: RedisLink, _ server: SimulatedRedis, loop: SimulatedLoop? = nil, mutation: Mutation?) {
        self.link = link
        self.server = server
        self.loop = loop
        self.mutation = mutation
    }

    /// Calls back as the real bus does.
    private func callBack(_ body: () -> Void) {
        if let loop { loop.perform(body) } else { body() }
    }

    /// - Parameter names: keys, streams and channels of the command.
    private func ask<T>(at names: [String], _ work: @escaping () -> T) async throws(BusError) -> T {
        let asked = Asked<Result<T, BusError>>()
        await withUnsafeContinuation { continuation in
            asked.continuation = continuation
            self.link.command(at: names, work) { asked.answer($0) }
        }
        return try asked.answer!.get()
    }

    /// - Parameter isPatient: the command is sent again until a master accepts it, which no bus may do.
    private func tell(
        at names: [String], isPatient: Bool = false, _ work: @escaping () -> Void,
        failed: ((BusError) -> Void)? = nil
    ) {
        self.link.command(at: names, work) { result in
            guard case .failure(let error) = result else { return }
            if isPatient {
                Machine.current.after(.milliseconds(50), for: self.link.host) {
                    self.tell(at: names, isPatient: true, work, failed: failed)
                }
            } else {
                self.callBack { failed?(error) }
            }
        }
    }
}

// MARK: - Jobs

extension SimulatedBus {
    func append(_ bytes: [UInt8], to stream: String, failed: @escaping @Sendable (BusError) -> Void) {
        guard let bytes = self.mutation.map({ $0.mutated(job: bytes, on: stream) }) ?? bytes else { return }
        if stream == Keyspace.wakes.name, let wake = try? Wake(decoding: bytes) { World.current.queued(wake) }
        let (order, link) = (self.server.nextOrder(), self.link)
        self.tell(
            at: [stream], isPatient: self.mutation == .reroutesMoved,
            {
                self.server.append(bytes, to: stream, order: order, from: link)
                // A Job may arrive twice: its sender retried, or its reader died.
                if World.current.repeatsJob() {
                    self.server.append(bytes, to: stream, order: order, from: link)
                }
            }, failed: failed)
    }

    func append(_ bytes: [UInt8], to stream: String) async throws(BusError) {
        let (order, link) = (self.server.nextOrder(), self.link)
        try await self.ask(at: [stream]) { self.server.append(bytes, to: stream, order: order, from: link) }
    }

    func read(
        _ positions: [(stream: String, after: EntryID)], limit: Int, blockFor: Duration
    ) async throws(BusError) -> [StreamBatch] {
        try await self.blocking(blockFor, for: positions.map(\.stream)) {
            self.server.read(positions, limit: limit, over: self.link)
        }
    }

    func trim(_ stream: String, through id: EntryID) {
        self.tell(at: [stream], isPatient: self.mutation == .trimsAcrossTerms) {
            let unread = self.server.trim(stream, through: id)
            if unread > 0 {
                World.current.record.fault("\(unread) Jobs of \(stream) were trimmed, and nobody had read them")
            }
        }
    }

    func take(
        from stream: String, group: String, consumer: String, limit: Int, blockFor: Duration
    ) async throws(BusError) -> [StreamEntry] {
        try await self.blocking(blockFor, for: [stream]) {
            guard self.link.reaches([stream]) else { return [] }
            return self.server.change(stream) { $0.take(group: group, consumer: consumer, limit: limit) }
        }
    }

    func claim(
        from stream: String, group: String, consumer: String, idle: Duration, limit: Int
    ) async throws(BusError) -> [StreamEntry] {
        try await self.ask(at: [stream]) {
            self.server.change(stream) { $0.claim(group: group, consumer: consumer, idle: idle, limit: limit) }
        }
    }

    func acknowledge(_ ids: [EntryID], in stream: String, group: String) {
        let ids = Set(ids)
        self.tell(at: [stream]) { self.server.change(stream) { $0.acknowledge(ids, group: group) } }
    }

    func time() async throws(BusError) -> UInt64 { try await self.ask(at: []) { self.server.time } }

    func depth(of streams: [String]) async throws(BusError) -> [Int] {
        try await self.ask(at: streams) { streams.map { self.server.depth($0) } }
    }

    /// The server answers when it has entries, or the time is up. A cancelled caller gets nothing.
    private func blocking<Found: Collection>(
        _ blockFor: Duration, for streams: [String], _ look: @escaping () -> Found
    ) async throws(BusError) -> Found where Found: RangeReplaceableCollection {
        let asked = Asked<Result<Found, BusError>>()
        await withTaskCancellationHandler {
            await withUnsafeContinuation { continuation in
                asked.continuation = continuation
                self.link.send { (answer: @escaping (Found) -> Void) in
                    let found = look()
                    guard found.isEmpty, blockFor > .zero else { return answer(found) }
                    var isOver = false
                    let waiter = SimulatedRedis.Waiter(for: streams) {
                        // A caller that waits on a cut connection must not take entries.
                        guard !isOver, self.link.isUp, !asked.isAnswered else { return true }
                        let found = look()
                        guard !found.isEmpty else { return false }
                        isOver = true
                        answer(found)
                        return true
                    }
                    self.server.wait(waiter)
                    Machine.current.after(blockFor.nanoseconds) {
                        self.server.leave(waiter)
                        guard !isOver else { return }
                        isOver = true
                        answer(Found())
                    }
                } done: {
                    asked.answer($0)
                }
            }
        } onCancel: {
            // Resumed from the machine's queue, never in the middle of another event.
            Machine.current.after(0, for: self.link.host) { asked.answer(.success(Found())) }
        }
        return try asked.answer!.get()
    }
}

/// A question that takes only its first answer.
private final class Asked<Answer>: @unchecked Sendable {
    var continuation: UnsafeContinuation<Void, Never>?
    private(set) var answer: Answer?

    var isAnswered: Bool { self.answer != nil }

    func answer(_ answer: Answer) {
        guard self.answer == nil, let continuation else { return }
        self.answer = answer
        continuation.resume()
    }
}

// MARK: - Notices

extension SimulatedBus {
    func publish(_ bytes: [UInt8], to channel: String, heard: (@Sendable (Result<Int, BusError>) -> Void)?) {
        guard let bytes = self.mutation.map({ $0.mutated(notice: bytes, on: channel) }) ?? bytes else {
            heard?(.success(1))
            return
        }
        self.link.command(at: [channel]) {
            (
                count: self.server.publish(bytes, to: channel),
                isSettling: self.server.masters?.isSettling(channel) ?? false
            )
        } done: { result in
            let count = result.flatMap { heard -> Result<Int, BusError> in
                heard.count == 0 && heard.isSettling && self.mutation != .takesZeroForGone
                    ? .failure(.unavailable) : .success(heard.count)
            }
            self.callBack { heard?(count) }
        }
    }

    func subscribe(
        to channels: [String], onEvent: @escaping @Sendable (SubscriptionEvent) -> Void
    ) async throws(BusError) {
        self.link.subscribe(to: channels) { event in self.callBack { onEvent(event) } }
        // Waits until cancelled; the process has ended then.
        try? await Task.sleep(for: .seconds(1_000_000))
    }
}

// MARK: - Keys

extension SimulatedBus {
    var replacements: Replacements {
        switch self.mutation {
        case .keepsPositionAcrossTerms: return .none
        case .takesMasterForBus:
            var all = Replacements(parts: 1) { _ in 0 }
            for _ in 0..<self.link.replacements.total { all.note([0]) }
            return all
        default: return self.link.replacements
        }
    }

    func get(_ key: KeyName) async throws(BusError) -> [UInt8]? {
        let value = try await self.ask(at: [key.name]) { self.server.value(of: key) }
        return self.mutation == .missesEmptiedBus && key.name.hasPrefix("canary") ? [1] : value
    }

    func get(_ keys: [KeyName]) async throws(BusError) -> [[UInt8]?] {
        try await self.ask(at: keys.map(\.name)) { keys.map { self.server.value(of: $0) } }
    }

    func take(_ key: KeyName) async throws(BusError) -> [UInt8]? {
        try await self.ask(at: [key.name]) {
            defer { self.server.set(key, to: nil) }
            return self.server.value(of: key)
        }
    }

    func set(_ key: KeyName, to value: [UInt8], for timeToLive: Duration) async throws(BusError) {
        try await self.ask(at: [key.name]) { self.server.set(key, to: value, for: timeToLive) }
    }

    func setWithoutWaiting(_ key: KeyName, to value: [UInt8], for timeToLive: Duration) {
        self.tell(at: [key.name]) { self.server.set(key, to: value, for: timeToLive) }
    }

    func exchangeWithoutWaiting(
        _ key: KeyName, for value: [UInt8], for timeToLive: Duration,
        heard: @escaping @Sendable (Result<[UInt8]?, BusError>) -> Void
    ) {
        self.link.command(at: [key.name]) {
            defer { self.server.set(key, to: value, for: timeToLive) }
            return self.server.value(of: key)
        } done: { result in
            self.callBack { heard(result) }
        }
    }

    func delete(_ keys: [KeyName]) async throws(BusError) {
        try await self.ask(at: keys.map(\.name)) { for key in keys { self.server.set(key, to: nil) } }
    }

    func deleteWithoutWaiting(_ key: KeyName, ifStill value: [UInt8]) {
        self.tell(at: [key.name]) { if self.server.value(of: key) == value { self.server.set(key, to: nil) } }
    }

    /// No client exceeds a rate here.
    func admit(_ key: KeyName, _ allowance: Allowance) async throws(BusError) -> Int64? {
        try await self.ask(at: [key.name]) { nil }
    }

    func lease(_ key: KeyName, _ request: RateRequest) async throws(BusError) -> RateGrant {
        try await self.ask(at: [key.name]) { RateGrant(uses: request.uses, wait: 0, rest: 0, record: 1) }
    }

    func extendWithoutWaiting(_ keys: [KeyName], for timeToLive: Duration) {
        for key in keys {
            self.tell(at: [key.name]) {
                if let value = self.server.value(of: key) { self.server.set(key, to: value, for: timeToLive) }
            }
        }
    }
}
