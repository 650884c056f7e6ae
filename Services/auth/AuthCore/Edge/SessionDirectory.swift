package import Bus
package import Contract
package import Logging
package import Store
import Telemetry

/// Who a token belongs to: the cache in Redis, then Postgres, which alone decides. Without Redis everything is read from Postgres.
package struct SessionDirectory: Sendable {
    private let sessions: SessionTable
    private let keys: any KeyBus
    private let clock: ServiceClock
    private let logger: Logger

    package init(_ sessions: SessionTable, keys: any KeyBus, clock: ServiceClock, logger: Logger) {
        self.sessions = sessions
        self.keys = keys
        self.clock = clock
        self.logger = logger
    }

    /// The session of a token. The cache may be behind by a moment: fence what matters by the caller's epoch.
    package func session(_ tokenHash: Bytes32) async throws(StoreError) -> Session? {
        if let session = await self.cached(tokenHash) { return session }
        return try await self.read(tokenHash)
    }

    /// The session of a token as Postgres has it now. Puts it into the cache. Whoever asks has the token and uses it: the one
    /// that it was refreshed from ends.
    package func read(_ tokenHash: Bytes32) async throws(StoreError) -> Session? {
        guard let found = try await self.sessions.live(tokenHash, at: self.clock.store) else {
            await self.forget([tokenHash])
            return nil
        }
        try await self.endPredecessor(of: tokenHash)
        return try await self.settle(found)
    }

    /// This token has been used. Doing it twice changes nothing.
    package func endPredecessor(of tokenHash: Bytes32) async throws(StoreError) {
        if let predecessor = try await self.sessions.removePredecessor(of: tokenHash) { await self.forget([predecessor]) }
    }

    /// Puts a session that has just been written into the cache. Costs nothing but the cache if it fails.
    package func cache(_ written: SessionTable.Living) async {
        do {
            _ = try await self.settle(written)
        } catch {
            self.logger.warning("session not cached", [.error: "\(error)"])
            await self.forget([written.session.tokenHash])
        }
    }

    /// Caches what was read from Postgres, and reads it again: it may have ended in between, and whoever ends it clears the
    /// cache once. So either this sees the end, or the end clears what this has cached.
    private func settle(_ found: SessionTable.Living) async throws(StoreError) -> Session? {
        var found = found
        for _ in 0..<AuthLimits.cacheFillsMax {
            guard await self.set(found) else { return found.session }
            guard let again = try await self.sessions.live(found.session.tokenHash, at: self.clock.store) else {
                await self.forget([found.session.tokenHash])
                return nil
            }
            if again.session == found.session { return found.session }
            found = again
        }
        await self.forget([found.session.tokenHash])
        return found.session
    }

    /// - Returns: whether the cache has it now.
    private func set(_ found: SessionTable.Living) async -> Bool {
        guard let life = SessionLife.cacheLife(left: found.left) else { return false }
        do {
            try await self.keys.set(
                Keyspace.session(found.session.tokenHash), to: found.session.encoded(), for: life)
            return true
        } catch {
            self.logger.warning("session not cached", [.error: "\(error)"])
            return false
        }
    }

    /// Called after these sessions have ended in Postgres. If Redis is away they stay cached for at most
    /// `AuthLimits.cacheLifeMax`; what they write meanwhile is refused by its epoch.
    package func forget(_ tokenHashes: [Bytes32]) async {
        do {
            try await self.keys.delete(tokenHashes.map { Keyspace.session($0) })
        } catch {
            self.logger.warning("ended sessions left in the cache", [.error: "\(error)", .count: .number(tokenHashes.count)])
        }
    }

    /// The key ends with the session. A process whose clock is ahead takes its end for past, and reads Postgres.
    private func cached(_ tokenHash: Bytes32) async -> Session? {
        guard let bytes = try? await self.keys.get(Keyspace.session(tokenHash)),
            let session = try? Session(decoding: bytes), session.tokenHash == tokenHash, session.expiresAt > self.clock()
        else { return nil }
        return session
    }
}
