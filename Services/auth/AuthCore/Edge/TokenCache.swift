import Bus
import ClusterContract
import Contract
import Logging
import Store
import Telemetry

/// The holders of tokens, cached in Redis for gateways. Postgres alone decides; losing the cache costs time.
struct TokenCache<Holder: WireCodable & Equatable & Sendable>: Sendable {
    /// A token's holder, and the token's remaining time by the clock of the statement that has read it.
    struct Entry: Equatable, Sendable {
        var holder: Holder
        var tokenHash: Bytes32
        var left: Duration
    }

    private let keys: any KeyBus
    private let logger: Logger
    private let key: @Sendable (Bytes32) -> KeyName

    /// - Parameter key: where a token's holder stands, by the token's hash.
    init(_ keys: any KeyBus, logger: Logger, key: @escaping @Sendable (Bytes32) -> KeyName) {
        self.keys = keys
        self.logger = logger
        self.key = key
    }

    /// - Returns: nil if the cache does not know it, or Redis is away.
    func holder(of tokenHash: Bytes32) async -> Holder? {
        guard let bytes = try? await self.keys.get(self.key(tokenHash)) else { return nil }
        return try? Holder(decoding: bytes)
    }

    /// Caches an entry that was read from Postgres, and reads it again: it may have ended in between, and its end
    /// clears the cache only once. So either the second read finds the end, or the end clears the cached entry.
    func settle(
        _ found: Entry, again: () async throws(StoreError) -> Entry?
    ) async throws(StoreError) -> Holder? {
        var found = found
        for _ in 0..<AuthLimits.cacheFillsMax {
            guard await self.set(found) else { return found.holder }
            guard let next = try await again() else {
                await self.forget([found.tokenHash])
                return nil
            }
            if next.holder == found.holder { return found.holder }
            found = next
        }
        await self.forget([found.tokenHash])
        return found.holder
    }

    /// The same for what has just been written. Costs nothing but the cache if it fails.
    func cache(_ written: Entry, again: () async throws(StoreError) -> Entry?) async {
        do {
            _ = try await self.settle(written, again: again)
        } catch {
            self.logger.warning("token not cached", [.error: "\(error)"])
            await self.forget([written.tokenHash])
        }
    }

    /// - Returns: whether the cache has it now.
    private func set(_ found: Entry) async -> Bool {
        guard let life = SessionLife.cacheLife(left: found.left) else { return false }
        do {
            try await self.keys.set(self.key(found.tokenHash), to: found.holder.encoded(), for: life)
            return true
        } catch {
            self.logger.warning("token not cached", [.error: "\(error)"])
            return false
        }
    }

    /// Called after these tokens have ended in Postgres. If Redis is away they stay cached for at most
    /// `AuthLimits.cacheLifeMax`; what they write meanwhile is refused by its epoch.
    func forget(_ tokenHashes: [Bytes32]) async {
        do {
            try await self.keys.delete(tokenHashes.map(self.key))
        } catch {
            self.logger.warning(
                "ended tokens left in the cache", [.error: "\(error)", .count: .number(tokenHashes.count)])
        }
    }
}
