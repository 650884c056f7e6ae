import Bus
import ClusterContract
import Contract
import TestKit

/// Lets something happen just before a key is set.
struct MeddlingKeys: KeyBus {
    private let bus: MemoryBus
    private let beforeSetting: @Sendable () async -> Void

    init(_ bus: MemoryBus, beforeSetting: @escaping @Sendable () async -> Void) {
        self.bus = bus
        self.beforeSetting = beforeSetting
    }

    func set(_ key: KeyName, to value: [UInt8], for timeToLive: Duration) async throws(BusError) {
        await self.beforeSetting()
        try await self.bus.set(key, to: value, for: timeToLive)
    }

    func get(_ key: KeyName) async throws(BusError) -> [UInt8]? { try await self.bus.get(key) }
    func get(_ keys: [KeyName]) async throws(BusError) -> [[UInt8]?] { try await self.bus.get(keys) }
    func take(_ key: KeyName) async throws(BusError) -> [UInt8]? { try await self.bus.take(key) }
    func setWithoutWaiting(_ key: KeyName, to value: [UInt8], for timeToLive: Duration) {
        self.bus.setWithoutWaiting(key, to: value, for: timeToLive)
    }
    func exchangeWithoutWaiting(
        _ key: KeyName, for value: [UInt8], for timeToLive: Duration,
        heard: @escaping @Sendable (Result<[UInt8]?, BusError>) -> Void
    ) {
        self.bus.exchangeWithoutWaiting(key, for: value, for: timeToLive, heard: heard)
    }
    func delete(_ keys: [KeyName]) async throws(BusError) { try await self.bus.delete(keys) }
    func deleteWithoutWaiting(_ key: KeyName, ifStill value: [UInt8]) {
        self.bus.deleteWithoutWaiting(key, ifStill: value)
    }
    func admit(_ key: KeyName, _ allowance: Allowance) async throws(BusError) -> Int64? {
        try await self.bus.admit(key, allowance)
    }
    func lease(_ key: KeyName, _ request: RateRequest) async throws(BusError) -> RateGrant {
        try await self.bus.lease(key, request)
    }
    func extendWithoutWaiting(_ keys: [KeyName], for timeToLive: Duration) {
        self.bus.extendWithoutWaiting(keys, for: timeToLive)
    }
}
