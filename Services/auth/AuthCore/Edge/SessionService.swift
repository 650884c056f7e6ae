package import ClusterContract
package import Contract
import ServerCrypto
package import Store

/// Changes of a session after its login: refresh, logout, push tokens (contract §4).
package struct SessionService: Sendable {
    private let pool: PostgresPool
    private let identities: IdentityTable
    private let devices = DeviceTable()
    private let sessions: SessionTable
    private let directory: SessionDirectory
    private let rateClasses: RateClasses
    private let clock: ServiceClock

    package init(
        pool: PostgresPool, directory: SessionDirectory, rateClasses: RateClasses = .usual, clock: ServiceClock
    ) {
        self.pool = pool
        self.identities = IdentityTable(pool)
        self.sessions = SessionTable(pool)
        self.directory = directory
        self.rateClasses = rateClasses
        self.clock = clock
    }

    /// - Parameter presented: the token that is to be replaced.
    package func refresh(_ presented: SessionToken) async throws(HandlingError) -> Answer {
        let now = self.clock.store
        let nonce = Bytes32(randomBytes(32))!
        let refreshed = try await atStore { () async throws(StoreError) in
            try await self.pool.persistently { transaction throws(StoreError) -> Refreshed? in
                _ = try await transaction.pipeline([
                    IdentityTable.keep(ownerOf: presented.hash), IdentityTable.see(ownerOf: presented.hash, at: now),
                ])
                guard
                    let (old, nonce) = try await self.sessions.retire(
                        presented.hash, nonce: nonce, at: now, in: transaction)
                else { return nil }
                let token = presented.successor(nonce: nonce)
                var new = old.session
                new.tokenHash = token.hash
                new.expiresAt = try await self.sessions.addSuccessor(
                    token.hash, of: old.session, until: now + Limits.sessionTTL, in: transaction)
                return Refreshed(old: old, new: new, token: token)
            }
        }
        guard let refreshed else { return Replies.notRegistered }
        guard !refreshed.old.session.isBanned else { return Replies.banned(for: nil) }
        await self.directory.cache(refreshed.old)
        // The new one is not cached before somebody asks for it: that is its first use, which ends the old one.
        return Replies.sessionRefreshAck(
            refreshed.new, token: refreshed.token, at: self.clock(), self.rateClasses)
    }

    private struct Refreshed: Sendable {
        var old: SessionTable.Living
        var new: Session
        var token: SessionToken
    }

    /// The successor of a refreshed token has been used.
    package func used(_ tokenHash: Bytes32) async throws(HandlingError) {
        try await atStore { () async throws(StoreError) in try await self.directory.endPredecessor(of: tokenHash) }
    }

    /// - Returns: the epoch that begins now; nil if the session was over already.
    package func logout(_ session: Session) async throws(HandlingError) -> Epoch? {
        let logout = try await atStore { () async throws(StoreError) in
            try await self.pool.persistently { transaction throws(StoreError) -> (epoch: Epoch, ended: [Bytes32])? in
                guard let epoch = try await self.identities.endEpoch(of: session.caller, in: transaction) else {
                    return nil
                }
                try await self.devices.remove(DeviceTable.Device(of: session), in: transaction)
                return (epoch, try await self.sessions.removeAll(of: session.caller.identity, in: transaction))
            }
        }
        guard let logout else { return nil }
        await self.directory.forget(logout.ended)
        return logout.epoch
    }

    package func update(_ tokens: UpdateTokens, of session: Session) async throws(HandlingError) -> Answer {
        let now = self.clock.store
        let callerStatus = try await atStore { () async throws(StoreError) in
            try await self.pool.persistently { transaction throws(StoreError) in
                let callerStatus = try await self.identities.hold(session.caller, in: transaction)
                if callerStatus == .live {
                    try await self.devices.setTokens(
                        of: DeviceTable.Device(of: session), push: tokens.pushToken, voip: tokens.voipToken,
                        wakeSecret: tokens.wakeSecret, at: now, in: transaction)
                }
                return callerStatus
            }
        }
        switch callerStatus {
        case .live: return Replies.tokensUpdated
        case .banned: return Replies.banned(for: nil)
        case .stale: return .stale
        }
    }
}
