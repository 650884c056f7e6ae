package import Bus
package import ClusterContract
package import Contract
package import Jobs
package import Logging
import ServerCrypto
package import Store
import Telemetry

/// Logins: `register_begin` and `register_proof` (contract §4).
package struct Registration: Sendable {
    private let pool: PostgresPool
    private let identities: IdentityTable
    private let devices = DeviceTable()
    private let sessions: SessionTable
    private let firstLogins: FirstLogins
    private let operators: any OperatorRecords
    private let directory: SessionDirectory
    private let usualMode: RegistrationMode
    private let rateClasses: RateClasses
    private let hint: RegistrationHint
    private let metrics = RegistrationMetrics()
    private let bus: any KeyBus
    private let clock: ServiceClock
    private let logger: Logger

    package init(
        pool: PostgresPool, directory: SessionDirectory, operators: any OperatorRecords, bus: any KeyBus,
        usualMode: RegistrationMode = .open, rateClasses: RateClasses = .usual, clock: ServiceClock, logger: Logger
    ) {
        self.pool = pool
        self.identities = IdentityTable(pool)
        self.sessions = SessionTable(pool)
        self.firstLogins = FirstLogins(pool)
        self.operators = operators
        self.directory = directory
        self.usualMode = usualMode
        self.rateClasses = rateClasses
        self.hint = RegistrationHint(pool, usual: usualMode)
        self.bus = bus
        self.clock = clock
        self.logger = logger
    }

    package func begin(
        _ frame: RegisterBegin, node: NodeID, connection: ConnectionID
    ) async throws(HandlingError) -> Answer {
        if let identity = frame.whisperID {
            let isBanned = try await atStore { () async throws(StoreError) in
                try await self.identities.isBanned(identity)
            }
            guard let isBanned else { return Replies.unknownIdentity }
            guard !isBanned else {
                await self.recordRefusal(of: identity)
                // Until when, only a proof of the keys is told.
                return Replies.banned(for: nil)
            }
        }
        let now = self.clock()
        // A hint: the proof decides. A login needs no database before its proof.
        let mode = (try? await self.hint.mode(at: now)) ?? self.usualMode
        let id = UUIDText.random()
        let challenge = LoginChallenge(
            for: frame, node: node, connection: connection, random: randomBytes(LoginChallenge.randomBytes),
            at: now)
        try await atBus { () async throws(BusError) in
            try await self.bus.set(Keyspace.challenge(id), to: challenge.encoded(), for: Limits.challengeTTL)
        }
        return Replies.registerChallenge(challenge, id: id, registration: mode)
    }

    package func prove(
        _ proof: RegisterProof, node: NodeID, connection: ConnectionID, until end: ContinuousClock.Instant
    ) async throws(HandlingError) -> Reaction {
        var invitation: InvitationToken?
        if let text = proof.invitation {
            guard let token = InvitationToken(text) else { return .answer(Replies.malformedInvitation, then: nil) }
            invitation = token
        }
        let stored = try await atBus { () async throws(BusError) in
            try await self.bus.take(Keyspace.challenge(proof.challengeID))
        }
        guard let stored, let challenge = try? LoginChallenge(decoding: stored) else {
            return .answer(self.refused("unknown challenge"), then: nil)
        }
        do {
            try challenge.check(proof, node: node, connection: connection)
        } catch {
            return .answer(self.refused(error.rawValue), then: nil)
        }
        let token = SessionToken(random: Bytes32(randomBytes(SessionToken.randomBytes))!)
        let login = try await atStore { () async throws(StoreError) in
            try await self.login(proof, invitation.map { SHA256.hash($0.bytes) }, token: token, until: end)
        }
        switch login {
        case .refused: return .answer(self.refused("other keys"), then: nil)
        case .tooLate: throw .tooLate
        case .notLetIn(let reason):
            self.metrics.proven(RegistrationResult(reason), by: proof.client)
            return .answer(Replies.notLetIn(reason), then: nil)
        case .banned(let identity): return .answer(await self.refused(banned: identity), then: nil)
        case .done(let session, let ended):
            self.metrics.proven(session.caller.epoch == Self.firstEpoch ? .new : .known, by: proof.client)
            await self.directory.forget(ended)
            await self.directory.cache(SessionTable.Living(session: session, left: Limits.sessionTTL))
            // The other way round a connection that logs in again would hear that it was replaced, by itself.
            return .answer(
                Replies.registerAck(session, token: token, at: self.clock(), self.rateClasses),
                then: .sessionsEnded(session.caller.identity, before: session.caller.epoch, why: .replaced))
        }
    }

    /// Records that a ban has refused a login. The answer is the same if that fails.
    private func recordRefusal(of identity: WhisperID) async {
        do throws(StoreError) {
            try await self.operators.recordRefusedLogin(of: .identity(identity))
        } catch {
            self.logger.warning("refused login not recorded", [.error: "\(error)"])
        }
    }

    /// To whoever has proven the keys. The answer has no end of the ban if that cannot be read.
    private func refused(banned identity: WhisperID) async -> Answer {
        await self.recordRefusal(of: identity)
        do throws(StoreError) {
            let end = try await self.operators.banEnd(of: identity)
            return Replies.banned(for: end.map { $0.milliseconds - self.clock().milliseconds })
        } catch {
            self.logger.warning("the end of a ban not read", [.error: "\(error)"])
            return Replies.banned(for: nil)
        }
    }

    private func refused(_ reason: String) -> Answer {
        self.logger.debug("login refused", [.reason: "\(reason)"])
        return Replies.authFailed
    }

    private enum Login: Sendable {
        case done(Session, ended: [Bytes32])
        case banned(WhisperID)
        case refused
        /// The keys are new, and nobody may come in with what they brought.
        case notLetIn(RefusalReason)
        /// Its client has given it up.
        case tooLate
    }

    /// - Throws: `.conflict` if others were in the way `StoreLimits.attemptsMax` times.
    private func login(
        _ proof: RegisterProof, _ invitation: Bytes32?, token: SessionToken, until end: ContinuousClock.Instant
    ) async throws(StoreError) -> Login {
        let claim = IdentityClaim(
            whisperID: proof.whisperID, signPublicKey: proof.signPublicKey, encPublicKey: proof.encPublicKey)
        // Who names no id is new, nearly always: the statement that adds it looks at the keys, too.
        var known: [IdentityKeys] = proof.whisperID == nil ? [] : try await self.identities.holders(of: claim)
        var candidates = claim.candidates.makeIterator()
        var candidate = candidates.next()
        for _ in 0..<StoreLimits.attemptsMax {
            switch claim.verdict(known: known) {
            case .refused:
                // Keys of an erased identity with its id: only their owner can show them.
                let marks = Tombstones.marks(sign: proof.signPublicKey, enc: proof.encPublicKey)
                guard known.isEmpty, try await self.pool.query(Tombstones.hold(marks)) else { return .refused }
                return .notLetIn(.erased)
            case .existing(let identity):
                return try await self.pool.persistently { transaction throws(StoreError) in
                    try await self.logInAgain(identity, proof, token: token, until: end, in: transaction)
                }
            case .new:
                // Of 256 candidates one is free.
                guard let identity = candidate else { return .refused }
                var isTaken = false
                var reason: RefusalReason?
                do throws(StoreError) {
                    switch try await self.add(identity, proof, invitation, token: token, until: end) {
                    case .added(let login): return .done(login, ended: [])
                    case .tooLate: return .tooLate
                    case .taken: isTaken = true
                    case .refused(let why): reason = why
                    }
                } catch .unique {
                    // The competing transaction has committed: the keys are registered.
                } catch .conflict {}
                known = try await self.identities.holders(of: claim)
                // Known keys log in, whoever may register.
                if let reason, known.isEmpty { return .notLetIn(reason) }
                // Nobody has the keys, so it was the id that is taken.
                if isTaken, known.isEmpty { candidate = candidates.next() }
            }
        }
        throw .conflict
    }

    /// Everything that a login of a known identity changes. Locks the identity first, so that two logins of one are done one after the
    /// other.
    private func logInAgain(
        _ identity: WhisperID, _ proof: RegisterProof, token: SessionToken, until end: ContinuousClock.Instant,
        in transaction: borrowing Transaction
    ) async throws(StoreError) -> Login {
        // This process may have stood still since it took the Job.
        guard ContinuousClock.now < end else { return .tooLate }
        let now = self.clock.store
        guard let (epoch, rateClass) = try await self.identities.beginEpoch(of: identity, at: now, in: transaction)
        else {
            // It was there a moment ago: it is banned, or has been erased meanwhile.
            let isThere = try await self.identities.exists(identity, in: transaction)
            return isThere ? .banned(identity) : .notLetIn(.erased)
        }
        var session = Self.session(of: identity, epoch, proof, token)
        session.rateClass = rateClass
        let ended = try await self.sessions.removeAll(of: identity, in: transaction)
        var device = DeviceTable.Device(of: session)
        device.client = proof.client
        // First: whoever deletes a row that has a token, and waits for the token then, may wait for who waits for the row.
        try await self.devices.setTokens(
            of: device, push: proof.pushToken.map { .set($0) } ?? .keep,
            voip: proof.voipToken.map { .set($0) } ?? .keep, wakeSecret: proof.wakeSecret, at: now, in: transaction)
        try await self.devices.makeOnly(device, in: transaction)
        session.expiresAt = try await self.sessions.add(session, until: now + Limits.sessionTTL, in: transaction)
        return .done(session, ended: ended)
    }

    /// The result of adding an identity.
    private enum Addition {
        case added(Session)
        /// The id or one of the keys is taken.
        case taken
        /// Its client has given it up.
        case tooLate
        case refused(RefusalReason)
    }

    /// Adds a new identity with its first session.
    private func add(
        _ identity: WhisperID, _ proof: RegisterProof, _ invitation: Bytes32?, token: SessionToken,
        until end: ContinuousClock.Instant
    ) async throws(StoreError) -> Addition {
        let now = self.clock.store
        var session = Self.session(of: identity, Self.firstEpoch, proof, token)
        let stored = try await self.firstLogins.store(
            FirstLogin(
                identity: IdentityKeys(
                    whisperID: identity, signPublicKey: proof.signPublicKey, encPublicKey: proof.encPublicKey),
                session: session, client: proof.client, pushToken: proof.pushToken, voipToken: proof.voipToken,
                wakeSecret: proof.wakeSecret.new, invitation: invitation, usualMode: self.usualMode, now: now,
                end: now + Limits.sessionTTL, deadline: end))
        switch stored {
        case .taken: return .taken
        case .tooLate: return .tooLate
        case .refused(let reason): return .refused(reason)
        case .added(let expiresAt, let rateClass):
            (session.expiresAt, session.rateClass) = (expiresAt, rateClass)
            return .added(session)
        }
    }

    private static let firstEpoch = Epoch(value: 1)

    private static func session(
        of identity: WhisperID, _ epoch: Epoch, _ proof: RegisterProof, _ token: SessionToken
    ) -> Session {
        Session(
            caller: Caller(identity: identity, epoch: epoch), device: proof.deviceID, platform: proof.platform,
            tokenHash: token.hash, expiresAt: Timestamp(milliseconds: 0), signPublicKey: proof.signPublicKey,
            isBanned: false)
    }
}

extension RegistrationResult {
    init(_ reason: RefusalReason) {
        self =
            switch reason {
            case .registrationClosed: .closed
            case .invitationNeeded: .needed
            case .invitationInvalid: .invalid
            case .erased, .confirmationMismatch: .erased
            }
    }
}
