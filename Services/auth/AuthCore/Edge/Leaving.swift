package import Bus
package import ClusterContract
package import Contract
package import Jobs
package import Logging
import ServerCrypto
package import Store

/// People leave for good: `account_delete_begin` and `account_delete`, and guests: `guest_forget` (contract §20.2).
package struct Leaving: Sendable {
    private let pool: PostgresPool
    private let eraser: Eraser
    private let operators: any OperatorRecords
    private let bus: any KeyBus
    private let clock: ServiceClock
    private let logger: Logger

    package init(
        pool: PostgresPool, eraser: Eraser, operators: any OperatorRecords, bus: any KeyBus, clock: ServiceClock,
        logger: Logger
    ) {
        self.pool = pool
        self.eraser = eraser
        self.operators = operators
        self.bus = bus
        self.clock = clock
        self.logger = logger
    }

    package func begin(
        _ session: Session, node: NodeID, connection: ConnectionID
    ) async throws(HandlingError) -> Answer {
        let challenge = ErasureChallenge(
            for: session.caller, id: .random(), node: node, connection: connection,
            random: randomBytes(ErasureChallenge.randomBytes))
        let key = Keyspace.erasureChallenge(session.caller.identity)
        try await atBus { () async throws(BusError) in
            try await self.bus.set(key, to: challenge.encoded(), for: Limits.erasureChallengeTTL)
        }
        return .reply(
            AccountDeleteChallenge(
                challengeID: challenge.id, challenge: challenge.bytes.bytes,
                expiresAt: self.clock() + Limits.erasureChallengeTTL))
    }

    /// - Parameter end: the erasure is not begun later: its client has been told that nothing was done.
    package func erase(
        _ frame: AccountDelete, of session: Session, node: NodeID, connection: ConnectionID,
        until end: ContinuousClock.Instant
    ) async throws(HandlingError) -> Reaction {
        let identity = session.caller.identity
        let stored = try await atBus { () async throws(BusError) in
            try await self.bus.take(Keyspace.erasureChallenge(identity))
        }
        guard frame.whisperID == identity else { return .answer(Replies.foreignErasure, then: nil) }
        guard let stored, let challenge = try? ErasureChallenge(decoding: stored) else {
            return self.refused("unknown challenge")
        }
        do {
            try challenge.check(frame, of: session, node: node, connection: connection)
        } catch {
            return self.refused(error.rawValue)
        }
        let order = ErasureOrder(
            .identity(identity), sentMail: frame.sentMail, by: .person, epoch: session.caller.epoch)
        guard let decided = try await self.erase(order, until: end) else { return .answer(.stale, then: nil) }
        // The other way round the connection would hear that it was replaced before it hears the answer.
        return .answer(.loggedOut(AccountDeleted(erasureID: decided.id)), then: Eraser.end(of: decided))
    }

    /// - Parameter guest: of the token that came with the frame; `nil` if it is nobody's.
    package func erase(_ guest: Guest?, until end: ContinuousClock.Instant) async throws(HandlingError) -> Reaction {
        guard let guest else { return .answer(Replies.notRegistered, then: nil) }
        guard !guest.isBanned else { return .answer(Replies.bannedGuest, then: nil) }
        let order = ErasureOrder(.guest(guest.id), sentMail: .keep, by: .guest, epoch: guest.epoch)
        guard let decided = try await self.erase(order, until: end) else {
            return .answer(Replies.notRegistered, then: nil)
        }
        return .answer(.loggedOut(GuestForgotten()), then: Eraser.end(of: decided))
    }

    private func erase(
        _ order: ErasureOrder, until end: ContinuousClock.Instant
    ) async throws(HandlingError) -> DecidedErasure? {
        guard ContinuousClock.now < end else { throw .tooLate }
        let decided = try await atStore { () async throws(StoreError) in
            try await self.pool.persistently { transaction throws(StoreError) in
                try await self.eraser.erase(order, in: transaction) { transaction throws(StoreError) in
                    try await self.operators.forget(order.principal, in: transaction)
                }
            }
        }
        if let decided { await self.eraser.enforce(decided, by: order.origin) }
        return decided
    }

    private func refused(_ reason: String) -> Reaction {
        self.logger.debug("erasure refused", [.reason: "\(reason)"])
        return .answer(Replies.erasureRefused, then: nil)
    }
}
