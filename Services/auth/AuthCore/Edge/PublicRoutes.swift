package import Bus
import ClusterContract
import Contract
package import HTTPAccess
package import Hummingbird
package import Logging
package import Store
import Telemetry

/// Auth's HTTP operations for clients: keys of other identities and the contact backup (contract §8), profiles (§14.4), the export
/// (§20.5), invitations (§20.6).
package struct PublicRoutes: Sendable {
    let directory: SessionDirectory
    let identities: IdentityTable
    let backups: ContactBackupTable
    let profiles: ProfileService
    let held: HeldRecords
    let inviting: Inviting
    let exports = ExportMetrics()
    let profileMetrics = ProfileMetrics()
    let configuration: AuthConfiguration
    let clock: ServiceClock
    private let logger: Logger
    let errors = ErrorMetrics()
    let limiter: RateLimiter
    private let unknownTokens: UnknownTokens

    package init(
        directory: SessionDirectory, identities: IdentityTable, backups: ContactBackupTable,
        held: HeldRecords, profiles: ProfileService, inviting: Inviting, limiter: RateLimiter,
        unknownTokens: UnknownTokens,
        configuration: AuthConfiguration = AuthConfiguration(), clock: ServiceClock,
        logger: Logger
    ) {
        self.directory = directory
        self.identities = identities
        self.backups = backups
        self.held = held
        self.inviting = inviting
        self.profiles = profiles
        self.clock = clock
        self.logger = logger
        self.limiter = limiter
        self.unknownTokens = unknownTokens
        self.configuration = configuration
    }

    package func add(to router: Router<some PeerContext>) {
        router.get("users/{whisperId}/keys") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.keys(of: context.parameters.get("whisperId"), request, context.peer)
            }
        }
        router.get("backup/contacts") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.readBackup(request, context.peer)
            }
        }
        router.put("backup/contacts") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.writeBackup(request, context.peer)
            }
        }
        router.delete("backup/contacts") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.removeBackup(request, context.peer)
            }
        }
        router.get("account/export") { request, context in
            try await self.errors.counting { () async throws(HTTPRefusal) in
                try await self.export(request, context.peer)
            }
        }
        self.addProfiles(to: router)
        self.addInvitations(to: router)
    }

    /// `GET /users/{whisperId}/keys` (spec §3.6).
    private func keys(
        of id: String?, _ request: Request, _ peer: NetworkAddress?
    ) async throws(HTTPRefusal) -> Response {
        let session = try await self.session(of: request, from: peer, within: Rates.keys)
        guard let id, let identity = WhisperID(id) else { throw .notAnID }
        let lookup = try await self.stored { () async throws(StoreError) in
            try await self.identities.keys(of: identity, for: session.caller)
        }
        switch lookup {
        case .refused(let callerStatus): throw HTTPRefusal(callerStatus) ?? .internalError
        case .unknown: throw .unknownIdentity
        case .found(let keys, let isBanned):
            var json = JSONWriter(capacity: 224)
            json.add("whisperId", keys.whisperID)
            json.add("encPublicKey", base64: keys.encPublicKey.bytes)
            json.add("signPublicKey", base64: keys.signPublicKey.bytes)
            json.add("status", isBanned ? "banned" : "active")
            return .answer(json.finished())
        }
    }

    /// The caller's session. Each operation checks against the database whether the session may do it.
    /// - Parameter peer: where the request's connection comes from.
    func session(
        of request: Request, from peer: NetworkAddress?, within rate: Rate
    ) async throws(HTTPRefusal) -> Session {
        let session = try await self.session(of: request, from: peer)
        if let wait = await self.limiter.admit(rate, "\(session.caller.identity)") {
            throw .tooMany(retryAfterMilliseconds: wait)
        }
        return session
    }

    /// The same, for what is counted later.
    func session(of request: Request, from peer: NetworkAddress?) async throws(HTTPRefusal) -> Session {
        guard let token = Self.token(in: request.headers) else { throw .notRegistered }
        let session = try await self.unknownTokens.session(of: token.hash, request, from: peer) {
            () async throws(HTTPRefusal) in
            try await self.stored { () async throws(StoreError) in try await self.directory.session(token.hash) }
        }
        guard !session.isBanned else { throw .banned }
        return session
    }

    /// `Authorization: Bearer {token}`; the scheme's case does not matter (RFC 9110, 11.1).
    static func token(in headers: HTTPFields) -> SessionToken? {
        BearerToken.bytes(in: headers).flatMap { SessionToken(shown: $0) }
    }

    /// The versions that `If-Match` or `If-None-Match` names; `nil` without the header.
    static func versions(
        _ name: String, _ value: String?, isWeak: Bool = false
    ) throws(HTTPRefusal) -> EntityTag.Expectation? {
        guard let value else { return nil }
        guard Limits.ifMatchCharacters.contains(value.unicodeScalars.count) else {
            throw .invalid(PayloadViolation(name, "names too many versions, or none"))
        }
        return EntityTag.expectation(value, isWeak: isWeak)
    }

    func stored<T>(_ body: () async throws(StoreError) -> T) async throws(HTTPRefusal) -> T {
        do throws(StoreError) {
            return try await body()
        } catch {
            let failure = HandlingError.store(error)
            if failure.isPassing {
                self.logger.warning("request not answered", [.error: "\(failure)"])
            } else {
                self.logger.error("request not answered", [.error: "\(failure)"])
            }
            throw .internalError
        }
    }
}
