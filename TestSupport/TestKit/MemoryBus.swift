package import Bus
package import ClusterContract
import Contract
import Synchronization

/// The whole `Bus` in this process's memory, for tests: nothing to start, nothing to connect to. Calls without a wait are done when
/// they return, and their closures have been called by then, on the caller's thread.
///
/// `goAway`, `comeBack` and `forgetEverything` do what a server does when it dies, returns, or loses its memory.
package final class MemoryBus: Bus {
    private let state = Mutex(MemoryBusState())

    package init() {}

    // MARK: What a server does

    /// Every call fails with `.unavailable` from here on; what is stored stays.
    package func goAway() {
        let (subscriptions, waiters) = self.state.withLock { state in
            state.isAway = true
            return (Array(state.subscriptions.values), state.takeWaiters())
        }
        for subscription in subscriptions { subscription.onEvent(.subscriptionLost) }
        for waiter in waiters { waiter.resume() }
    }

    package func comeBack() {
        let subscriptions = self.state.withLock { state in
            state.isAway = false
            return Array(state.subscriptions.values)
        }
        for subscription in subscriptions { subscription.onEvent(.subscribed) }
    }

    /// After so many more calls one is carried out, and its caller hears that the bus is away.
    package func loseAnswer(after calls: Int) { self.state.withLock { $0.callsUntilLoss = calls } }

    /// Streams, groups and keys are gone; subscriptions stay.
    package func forgetEverything() {
        self.state.withLock {
            $0.streams = [:]
            $0.keys = [:]
        }
    }

    /// A copy takes the place of the part in which this name is, here with all that the part had.
    package func replacePart(of name: String) {
        self.state.withLock { $0.replacePart(of: name) }
    }

    package var replacements: Replacements { self.state.withLock { $0.replacements } }

    /// Runs `body` on the state, or throws if the bus is away.
    private func run<T>(_ body: (inout MemoryBusState) throws(BusError) -> sending T) throws(BusError) -> sending T {
        let result: Result<T, BusError> = self.state.withLock { state in
            guard !state.isAway else { return .failure(.unavailable) }
            do throws(BusError) {
                let answer = try body(&state)
                guard let left = state.callsUntilLoss else { return .success(answer) }
                state.callsUntilLoss = left > 0 ? left - 1 : nil
                return left > 0 ? .success(answer) : .failure(.unavailable)
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}

// MARK: - Jobs

extension MemoryBus {
    package func append(_ bytes: [UInt8], to stream: String, failed: @escaping @Sendable (BusError) -> Void) {
        do throws(BusError) { try self.add(bytes, to: stream) } catch { failed(error) }
    }

    package func append(_ bytes: [UInt8], to stream: String) async throws(BusError) {
        try self.add(bytes, to: stream)
    }

    private func add(_ bytes: [UInt8], to stream: String) throws(BusError) {
        let waiters = try self.run { state throws(BusError) in
            state.streams[stream, default: MemoryStream()].append(bytes)
            return state.takeWaiters()
        }
        for waiter in waiters { waiter.resume() }
    }

    package func read(
        _ positions: [(stream: String, after: EntryID)], limit: Int, blockFor: Duration
    ) async throws(BusError) -> [StreamBatch] {
        try await self.blocking(blockFor) { state throws(BusError) in
            positions.compactMap { position in
                let entries = state.streams[position.stream]?.entries(after: position.after, limit: limit) ?? []
                return entries.isEmpty ? nil : StreamBatch(stream: position.stream, entries: entries)
            }.cut()
        }
    }

    package func trim(_ stream: String, through id: EntryID) {
        try? self.run { state throws(BusError) in state.streams[stream]?.remove { $0 <= id } }
    }

    package func take(
        from stream: String, group: String, consumer: String, limit: Int, blockFor: Duration
    ) async throws(BusError) -> [StreamEntry] {
        try await self.blocking(blockFor) { state throws(BusError) in
            state.streams[stream, default: MemoryStream()].take(group: group, consumer: consumer, limit: limit)
        }
    }

    package func claim(
        from stream: String, group: String, consumer: String, idle: Duration, limit: Int
    ) async throws(BusError) -> [StreamEntry] {
        try self.run { state throws(BusError) in
            state.streams[stream]?.claim(group: group, consumer: consumer, idle: idle, limit: limit) ?? []
        }
    }

    package func acknowledge(_ ids: [EntryID], in stream: String, group: String) {
        let ids = Set(ids)
        try? self.run { state throws(BusError) in state.streams[stream]?.acknowledge(ids, group: group) }
    }

    package func time() async throws(BusError) -> UInt64 { try self.run { state throws(BusError) in state.time } }

    /// Entries are numbered as of the beginning. Later times make them old.
    package func setTime(_ milliseconds: UInt64) {
        try? self.run { state throws(BusError) in state.time = milliseconds }
    }

    package func depth(of streams: [String]) async throws(BusError) -> [Int] {
        try self.run { state throws(BusError) in streams.map { state.streams[$0]?.entries.count ?? 0 } }
    }

    /// Looks until there is something, the time is up or the task is cancelled. Looks again after every append.
    private func blocking<Found: Collection & Sendable>(
        _ blockFor: Duration, _ look: (inout MemoryBusState) throws(BusError) -> Found
    ) async throws(BusError) -> Found {
        let deadline = ContinuousClock.now + blockFor
        while true {
            let waiter = MemoryWaiter()
            let found = try self.run { state throws(BusError) in
                let found = try look(&state)
                if found.isEmpty { state.waiters.append(waiter) }
                return found
            }
            if !found.isEmpty { return found }
            guard ContinuousClock.now < deadline, !Task.isCancelled else { return found }
            // A child for the clock; cancelled as soon as something is appended.
            await withTaskGroup { group in
                group.addTask {
                    try? await Task.sleep(until: deadline, clock: .continuous)
                    waiter.resume()
                }
                await waiter.wait()
                group.cancelAll()
            }
            self.state.withLock { $0.waiters.removeAll { $0 === waiter } }
        }
    }
}

// MARK: - Notices

extension MemoryBus {
    package func publish(
        _ bytes: [UInt8], to channel: String, heard: (@Sendable (Result<Int, BusError>) -> Void)?
    ) {
        do throws(BusError) {
            let listeners = try self.run { state throws(BusError) in
                state.subscriptions.values.filter { $0.channels.contains(channel) }
            }
            for listener in listeners { listener.onEvent(.notice(channel: channel, bytes: bytes)) }
            heard?(.success(listeners.count))
        } catch {
            heard?(.failure(error))
        }
    }

    package func subscribe(
        to channels: [String], onEvent: @escaping @Sendable (SubscriptionEvent) -> Void
    ) async throws(BusError) {
        let ended = MemoryWaiter()
        let (id, isAway) = self.state.withLock { state in
            state.lastSubscription += 1
            state.subscriptions[state.lastSubscription] = MemorySubscription(channels: Set(channels), onEvent: onEvent)
            return (state.lastSubscription, state.isAway)
        }
        if !isAway { onEvent(.subscribed) }
        await withTaskCancellationHandler {
            await ended.wait()
        } onCancel: {
            ended.resume()
        }
        self.state.withLock { $0.subscriptions[id] = nil }
    }
}

// MARK: - Keys

extension MemoryBus {
    package func get(_ key: KeyName) async throws(BusError) -> [UInt8]? {
        try self.run { state throws(BusError) in state.value(of: key) }
    }

    package func get(_ keys: [KeyName]) async throws(BusError) -> [[UInt8]?] {
        try self.run { state throws(BusError) in keys.map { state.value(of: $0) } }
    }

    package func take(_ key: KeyName) async throws(BusError) -> [UInt8]? {
        try self.run { state throws(BusError) in
            defer { state.keys[key] = nil }
            return state.value(of: key)
        }
    }

    package func set(_ key: KeyName, to value: [UInt8], for timeToLive: Duration) async throws(BusError) {
        try self.run { state throws(BusError) in state.keys[key] = MemoryKey(value, for: timeToLive) }
    }

    package func setWithoutWaiting(_ key: KeyName, to value: [UInt8], for timeToLive: Duration) {
        try? self.run { state throws(BusError) in state.keys[key] = MemoryKey(value, for: timeToLive) }
    }

    package func exchangeWithoutWaiting(
        _ key: KeyName, for value: [UInt8], for timeToLive: Duration,
        heard: @escaping @Sendable (Result<[UInt8]?, BusError>) -> Void
    ) {
        do throws(BusError) {
            heard(
                .success(
                    try self.run { state throws(BusError) in
                        defer { state.keys[key] = MemoryKey(value, for: timeToLive) }
                        return state.value(of: key)
                    }))
        } catch {
            heard(.failure(error))
        }
    }

    package func delete(_ keys: [KeyName]) async throws(BusError) {
        try self.run { state throws(BusError) in for key in keys { state.keys[key] = nil } }
    }

    package func deleteWithoutWaiting(_ key: KeyName, ifStill value: [UInt8]) {
        try? self.run { state throws(BusError) in if state.value(of: key) == value { state.keys[key] = nil } }
    }

    package func admit(_ key: KeyName, _ allowance: Allowance) async throws(BusError) -> Int64? {
        try self.run { state throws(BusError) in
            var pace = state.value(of: key).flatMap { SharedPace(text: $0) } ?? SharedPace()
            let wait = pace.admit(allowance, at: .now)
            if wait == nil { state.keys[key] = MemoryKey(pace.text, for: .milliseconds(allowance.ahead)) }
            return wait
        }
    }

    package func lease(_ key: KeyName, _ request: RateRequest) async throws(BusError) -> RateGrant {
        try self.run { state throws(BusError) in
            var pace = state.value(of: key).flatMap { SharedPace(text: $0) } ?? SharedPace()
            state.leases += 1
            let now = Timestamp.now
            let grant = pace.grant(request, at: now, newRecord: UInt64(now.milliseconds) * 1_000 + state.leases % 1_000)
            state.keys[key] = MemoryKey(pace.text, for: .milliseconds(grant.rest))
            return grant
        }
    }

    package func extendWithoutWaiting(_ keys: [KeyName], for timeToLive: Duration) {
        try? self.run { state throws(BusError) in
            for key in keys {
                if let value = state.value(of: key) { state.keys[key] = MemoryKey(value, for: timeToLive) }
            }
        }
    }
}
