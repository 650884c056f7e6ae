package import Bus
package import ClusterContract
import Contract

extension RedisBus {
    package func get(_ key: KeyName) async throws(BusError) -> [UInt8]? {
        try await self.ask(.get(key.name)) { cursor throws(BusError) in try cursor.bytes() }
    }

    package func get(_ keys: [KeyName]) async throws(BusError) -> [[UInt8]?] {
        guard !keys.isEmpty else { return [] }
        if self.isCluster { return try await self.askEach(keys.map { .get($0.name) }, decode: Self.value) }
        return try await self.ask(.getAll(keys.map(\.name)), decode: Self.values)
    }

    package func getWithoutWaiting(_ keys: [KeyName], heard: @escaping @Sendable (Result<[[UInt8]?], BusError>) -> Void)
    {
        if self.isCluster {
            return self.sendEach(keys.map { .get($0.name) }, areAwaited: false, decode: Self.value, done: heard)
        }
        self.send(.getAll(keys.map(\.name)), .news { heard($0.decoded(Self.values)) })
    }

    private static let value: @Sendable (inout ReplyCursor) throws(BusError) -> [UInt8]? = {
        cursor throws(BusError) in try cursor.bytes()
    }

    private static let values: @Sendable (inout ReplyCursor) throws(BusError) -> [[UInt8]?] = {
        cursor throws(BusError) in
        var values: [[UInt8]?] = []
        for _ in 0..<(try cursor.array() ?? 0) { values.append(try cursor.bytes()) }
        return values
    }

    package func take(_ key: KeyName) async throws(BusError) -> [UInt8]? {
        try await self.ask(.getAndDelete(key.name)) { cursor throws(BusError) in try cursor.bytes() }
    }

    package func set(_ key: KeyName, to value: [UInt8], for timeToLive: Duration) async throws(BusError) {
        try await self.ask(.set(key.name, value, timeToLive: timeToLive)) { _ throws(BusError) in }
    }

    package func setWithoutWaiting(_ key: KeyName, to value: [UInt8], for timeToLive: Duration) {
        self.send(.set(key.name, value, timeToLive: timeToLive), .nobody)
    }

    package func exchangeWithoutWaiting(
        _ key: KeyName, for value: [UInt8], for timeToLive: Duration,
        heard: @escaping @Sendable (Result<[UInt8]?, BusError>) -> Void
    ) {
        self.send(
            .exchange(key.name, value, timeToLive: timeToLive), .answer { heard($0.decoded(Self.value)) })
    }

    package func delete(_ keys: [KeyName]) async throws(BusError) {
        guard !keys.isEmpty else { return }
        if self.isCluster {
            _ = try await self.askEach(keys.map { .delete([$0.name]) }) { _ throws(BusError) in }
            return
        }
        try await self.ask(.delete(keys.map(\.name))) { _ throws(BusError) in }
    }

    package func deleteWithoutWaiting(_ key: KeyName, ifStill value: [UInt8]) {
        self.send(.deleteIfStill(key.name, value), .nobody)
    }

    package func admit(_ key: KeyName, _ allowance: Allowance) async throws(BusError) -> Int64? {
        let wait = try await self.ask(.admit(key.name, allowance)) { cursor throws(BusError) in
            try cursor.integer()
        }
        return wait > 0 ? Int64(wait) : nil
    }

    package func lease(_ key: KeyName, _ request: RateRequest) async throws(BusError) -> RateGrant {
        try await self.ask(.lease(key.name, request)) { cursor throws(BusError) in
            guard try cursor.array() == 4 else { throw .refused("an answer of an unknown form") }
            let (uses, wait) = (try cursor.integer(), try cursor.integer())
            guard let rest = Double(try cursor.string()), let record = UInt64(try cursor.string()) else {
                throw .refused("an answer of an unknown form")
            }
            return RateGrant(uses: uses, wait: Int64(wait), rest: rest, record: record)
        }
    }

    package func extendWithoutWaiting(_ keys: [KeyName], for timeToLive: Duration) {
        for key in keys { self.send(.touch(key.name, timeToLive: timeToLive), .nobody) }
    }
}
