package import Bus
package import ClusterContract
package import Contract
package import Logging
package import Store

/// Which guest a token belongs to, as Postgres has it. Fills the cache that gateways look into.
package struct GuestDirectory: Sendable {
    private let guests: GuestTable
    private let cache: TokenCache<Guest>
    private let clock: ServiceClock

    package init(_ guests: GuestTable, keys: any KeyBus, clock: ServiceClock, logger: Logger) {
        self.guests = guests
        self.cache = TokenCache(keys, logger: logger) { Keyspace.guest($0) }
        self.clock = clock
    }

    /// The guest of a token as Postgres has it now. Puts it into the cache.
    package func read(_ tokenHash: Bytes32) async throws(StoreError) -> Guest? {
        guard let found = try await self.guests.see(tokenHash, at: self.clock.store) else {
            await self.cache.forget([tokenHash])
            return nil
        }
        return try await self.cache.settle(Self.entry(of: found)) { () async throws(StoreError) in
            try await self.again(tokenHash)
        }
    }

    /// A proof has given the guest this token.
    /// - Parameter replaced: the token (its hash) before it.
    package func proved(_ proved: GuestTable.Living, replaced: Bytes32?) async {
        if let replaced { await self.cache.forget([replaced]) }
        await self.cache.cache(Self.entry(of: proved)) { () async throws(StoreError) in
            try await self.again(proved.guest.tokenHash)
        }
    }

    /// Clears the cache entries of these tokens, which have changed.
    package func forget(_ tokenHashes: [Bytes32]) async { await self.cache.forget(tokenHashes) }

    private func again(_ tokenHash: Bytes32) async throws(StoreError) -> TokenCache<Guest>.Entry? {
        try await self.guests.live(tokenHash, at: self.clock.store).map(Self.entry)
    }

    private static func entry(of found: GuestTable.Living) -> TokenCache<Guest>.Entry {
        .init(holder: found.guest, tokenHash: found.guest.tokenHash, left: found.left)
    }
}
