package import Bus
package import ClusterContract
package import Contract
import ServerCrypto
package import Store

/// Invitations that people make, each for one person (contract §20.6). The operators' core keeps them beside its own, within one bound.
package struct Inviting: Sendable {
    package enum Invitation: Sendable {
        case made(InvitationToken, expiresAt: Timestamp)
        /// As many are open as may be.
        case noRoom
        /// The caller is not `live`.
        case refused(CallerStatus)
    }

    private let pool: PostgresPool
    private let identities: IdentityTable
    private let operators: any OperatorRecords
    private let limiter: RateLimiter
    private let perDay: Int
    private let keepsInviters: Bool
    private let clock: ServiceClock

    package init(
        pool: PostgresPool, operators: any OperatorRecords, bus: any Bus, configuration: AuthConfiguration,
        clock: ServiceClock
    ) {
        self.pool = pool
        self.identities = IdentityTable(pool)
        self.operators = operators
        // RATE_LIMIT_SCALE does not multiply what the setting says.
        self.limiter = RateLimiter(bus: bus, rates: RateTable())
        self.perDay = configuration.invitationsPerDay
        self.keepsInviters = configuration.server.keepsInviters
        self.clock = clock
    }

    package var isAllowed: Bool { self.perDay > 0 }

    /// Counts one invitation of the day.
    /// - Returns: `nil` if it is allowed, else the milliseconds to wait.
    package func admit(_ identity: WhisperID) async -> Int64? {
        await self.limiter.admit(Rates.invitations(perDay: self.perDay), "\(identity)")
    }

    /// An invitation that is surely not made is none of the day's.
    package func invite(for life: Duration, by caller: Caller) async throws(StoreError) -> Invitation {
        do throws(StoreError) {
            let invitation = try await self.make(for: life, by: caller)
            if case .made = invitation {} else { await self.giveBack(caller.identity) }
            return invitation
        } catch {
            if error != .outcomeUnknown { await self.giveBack(caller.identity) }
            throw error
        }
    }

    private func giveBack(_ identity: WhisperID) async {
        await self.limiter.giveBack(Rates.invitations(perDay: self.perDay), "\(identity)")
    }

    private func make(for life: Duration, by caller: Caller) async throws(StoreError) -> Invitation {
        let token = InvitationToken(random: randomBytes(InvitationToken.byteCount))
        let (hash, now) = (SHA256.hash(token.bytes), self.clock.store)
        let inviter = self.keepsInviters ? caller.identity : nil
        return try await self.pool.persistently { transaction throws(StoreError) in
            let status = try await self.identities.hold(caller, in: transaction)
            guard status == .live else { return .refused(status) }
            let expiresAt = try await self.operators.addInvitation(
                hash, for: life, by: inviter, at: now, in: transaction)
            return expiresAt.map { .made(token, expiresAt: $0) } ?? .noRoom
        }
    }

    /// Ends the invitation with this token, whoever has made it. Doing it twice changes nothing.
    /// - Returns: `.live` also if there is no such invitation.
    package func revoke(_ token: InvitationToken, by caller: Caller) async throws(StoreError) -> CallerStatus {
        let (hash, now) = (SHA256.hash(token.bytes), self.clock.store)
        return try await self.pool.persistently { transaction throws(StoreError) in
            let status = try await self.identities.hold(caller, in: transaction)
            if status == .live { try await self.operators.revokeInvitation(hash, at: now, in: transaction) }
            return status
        }
    }
}
