package import Bus
package import ClusterContract
package import Contract
package import Hummingbird
package import Logging
import ServerCrypto
package import Store
import Telemetry

/// The sessions of HTTP callers, for services other than auth: bearer token → `Session`.
///
/// Read from Postgres with every request, past the cache in Redis: one look-up by primary key, which is never behind. A
/// newer login, a ban or the session's end counts from its commit on, whether Redis is there or not.
package struct HTTPSessions: Sendable {
    private let sessions: LiveSessions
    private let bus: any Bus
    private let limiter: RateLimiter
    private let unknownTokens: UnknownTokens
    private let clock: ServiceClock
    private let logger: Logger

    /// - Parameters:
    ///   - pool: of a role that auth has granted `auth.live_sessions` to.
    ///   - trustedProxies: whose `X-Forwarded-For` is believed.
    package init(
        pool: PostgresPool, bus: any Bus, rates: RateTable, trustedProxies: TrustedProxies,
        clock: ServiceClock = .real, logger: Logger
    ) {
        self.sessions = LiveSessions(pool)
        self.bus = bus
        self.limiter = RateLimiter(bus: bus, rates: rates)
        self.unknownTokens = UnknownTokens(bus: bus, rates: rates, trustedProxies: trustedProxies)
        self.clock = clock
        self.logger = logger
    }

    /// The live session that the request shows.
    /// - Parameters:
    ///   - peer: where the request's connection comes from.
    ///   - rate: counted for the session's identity; nil for none.
    /// - Throws: 401 without one, 403 USER_BANNED, 429 with `Retry-After`, 500 when Postgres is away.
    package func session(
        of request: Request, from peer: NetworkAddress?, within rate: Rate?
    ) async throws(HTTPRefusal) -> Session {
        guard let token = BearerToken.bytes(in: request.headers), Limits.sessionTokenCharacters.contains(token.count)
        else { throw .notRegistered }
        let tokenHash = SHA256.hash(token)
        let found = try await self.unknownTokens.session(of: tokenHash, request, from: peer) {
            () async throws(HTTPRefusal) in
            try await self.read { () async throws(StoreError) in
                try await self.sessions.session(tokenHash, at: self.clock.store)
            }
        }
        try await self.check(found.session, hasPredecessor: found.hasPredecessor, within: rate)
        return found.session
    }

    /// The live session or guest that the request shows (P of contract §14.2).
    /// - Parameter rate: counted for the identity or guest; nil for none.
    /// - Throws: as `session(of:from:within:)`.
    package func principal(
        of request: Request, from peer: NetworkAddress?, within rate: Rate?
    ) async throws(HTTPRefusal) -> Principal {
        guard let token = BearerToken.bytes(in: request.headers), Limits.sessionTokenCharacters.contains(token.count)
        else { throw .noPrincipal }
        let tokenHash = SHA256.hash(token)
        let found = try await self.unknownTokens.session(of: tokenHash, request, from: peer) {
            () async throws(HTTPRefusal) -> (principal: Principal, hasPredecessor: Bool)? in
            try await self.read { () async throws(StoreError) in
                if let found = try await self.sessions.session(tokenHash, at: self.clock.store) {
                    return (.session(found.session), found.hasPredecessor)
                }
                return try await self.sessions.guest(tokenHash, at: self.clock.store).map { (.guest($0), false) }
            }
        }
        switch found.principal {
        case .session(let session):
            try await self.check(session, hasPredecessor: found.hasPredecessor, within: rate)
        case .guest(let guest):
            guard !guest.isBanned else { throw .bannedGuest }
            try await self.count(guest.id.description, within: rate)
        }
        return found.principal
    }

    private func read<Found>(
        _ body: () async throws(StoreError) -> Found
    ) async throws(HTTPRefusal) -> Found {
        do throws(StoreError) {
            return try await body()
        } catch {
            self.logger.warning("session not read", [.error: "\(error)"])
            throw .internalError
        }
    }

    private func check(
        _ session: Session, hasPredecessor: Bool, within rate: Rate?
    ) async throws(HTTPRefusal) {
        if hasPredecessor { self.endPredecessor(of: session) }
        guard !session.isBanned else { throw .banned }
        try await self.count("\(session.caller.identity)", within: rate)
    }

    private func count(_ subject: String, within rate: Rate?) async throws(HTTPRefusal) {
        guard let rate, let wait = await self.limiter.admit(rate, subject) else { return }
        throw .tooMany(retryAfterMilliseconds: wait)
    }

    /// A refreshed token dies with the first use of the new one (contract §4). Auth owns sessions, so it is told; a Job that gets
    /// lost is sent again with the next request.
    private func endPredecessor(of session: Session) {
        let request = ServiceRequest(
            answer: AnswerAddress(node: NodeID(value: 0), question: 0), connection: ConnectionID(value: 0),
            session: session,
            body: .sessionUsed(tokenHash: session.tokenHash))
        self.bus.append(request, to: Keyspace.auth) { _ in }
    }
}
