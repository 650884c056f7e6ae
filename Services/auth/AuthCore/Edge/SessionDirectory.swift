package import Bus
package import ClusterContract
package import Contract
package import Logging
package import Store

/// Finds the session of a token: in the cache in Redis, then in Postgres, which alone decides. Without Redis everything
/// is read from Postgres.
package struct SessionDirectory: Sendable {
    private let sessions: SessionTable
    private let cache: TokenCache<Session>
    private let clock: ServiceClock

    package init(_ sessions: SessionTable, keys: any KeyBus, clock: ServiceClock, logger: Logger) {
        self.sessions = sessions
        self.cache = TokenCache(keys, logger: logger) { Keyspace.session($0) }
        self.clock = clock
    }

    /// The session of a token. The cache may be behind by a moment: fence what matters by the caller's epoch.
    package func session(_ tokenHash: Bytes32) async throws(StoreError) -> Session? {
        if let session = await self.cached(tokenHash) { return session }
        return try await self.read(tokenHash)
    }

    /// The session of a token as Postgres has it now. Puts it into the cache. The caller uses this token, so the
    /// session that it was refreshed from ends.
    package func read(_ tokenHash: Bytes32) async throws(StoreError) -> Session? {
        guard let found = try await self.sessions.live(tokenHash, at: self.clock.store) else {
            await self.forget([tokenHash])
            return nil
        }
        try await self.endPredecessor(of: tokenHash)
        return try await self.cache.settle(Self.entry(of: found)) { () async throws(StoreError) in
            try await self.again(tokenHash)
        }
    }

    /// This token has been used. Doing it twice changes nothing.
    package func endPredecessor(of tokenHash: Bytes32) async throws(StoreError) {
        if let predecessor = try await self.sessions.removePredecessor(of: tokenHash) {
            await self.forget([predecessor])
        }
    }

    /// Puts a session that has just been written into the cache. Costs nothing but the cache if it fails.
    package func cache(_ written: SessionTable.Living) async {
        await self.cache.cache(Self.entry(of: written)) { () async throws(StoreError) in
            try await self.again(written.session.tokenHash)
        }
    }

    /// Called after these sessions have ended in Postgres. If Redis is away they stay cached for at most
    /// `AuthLimits.cacheLifeMax`; what they write meanwhile is refused by its epoch.
    package func forget(_ tokenHashes: [Bytes32]) async { await self.cache.forget(tokenHashes) }

    private func again(_ tokenHash: Bytes32) async throws(StoreError) -> TokenCache<Session>.Entry? {
        try await self.sessions.live(tokenHash, at: self.clock.store).map(Self.entry)
    }

    private static func entry(of found: SessionTable.Living) -> TokenCache<Session>.Entry {
        .init(holder: found.session, tokenHash: found.session.tokenHash, left: found.left)
    }

    /// The key ends with the session. A process whose clock is ahead takes its end for past, and reads Postgres.
    private func cached(_ tokenHash: Bytes32) async -> Session? {
        guard let session = await self.cache.holder(of: tokenHash), session.tokenHash == tokenHash,
            session.expiresAt > self.clock()
        else { return nil }
        return session
    }
}
