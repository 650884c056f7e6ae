package import Bus
package import ClusterContract
package import Contract
package import Jobs
package import Logging
import ServerCrypto
package import Store
import Telemetry

/// Guests prove their keys: `guest_begin` and `guest_proof` (contract §14.3).
package struct GuestProving: Sendable {
    private let guests: GuestTable
    private let areTaken: Bool
    private let directory: GuestDirectory
    private let operators: any OperatorRecords
    private let bus: any KeyBus
    private let clock: ServiceClock
    private let logger: Logger

    /// - Parameter areTaken: whether this server has guests.
    package init(
        _ guests: GuestTable, areTaken: Bool = true, operators: any OperatorRecords, bus: any KeyBus,
        clock: ServiceClock, logger: Logger
    ) {
        self.guests = guests
        self.areTaken = areTaken
        self.directory = GuestDirectory(self.guests, keys: bus, clock: clock, logger: logger)
        self.operators = operators
        self.bus = bus
        self.clock = clock
        self.logger = logger
    }

    package func begin(
        _ frame: GuestBegin, node: NodeID, connection: ConnectionID
    ) async throws(HandlingError) -> Answer {
        guard self.areTaken else { return Replies.notLetIn(.registrationClosed) }
        let id = UUIDText.random()
        let challenge = ProofChallenge(
            for: frame, node: node, connection: connection, random: randomBytes(ProofChallenge.randomBytes),
            at: self.clock())
        try await atBus { () async throws(BusError) in
            try await self.bus.set(Keyspace.challenge(id), to: challenge.encoded(), for: Limits.challengeTTL)
        }
        return Replies.guestChallenge(challenge, id: id)
    }

    /// - Parameter end: the proof's client has given it up by then.
    package func prove(
        _ proof: GuestProof, node: NodeID, connection: ConnectionID, until end: ContinuousClock.Instant
    ) async throws(HandlingError) -> Reaction {
        let stored = try await atBus { () async throws(BusError) in
            try await self.bus.take(Keyspace.challenge(proof.challengeID))
        }
        guard let stored, let challenge = try? ProofChallenge(decoding: stored) else {
            return self.refused("unknown challenge")
        }
        do {
            try challenge.check(proof, node: node, connection: connection)
        } catch {
            return self.refused(error.rawValue)
        }
        // This process may have stood still since it took the Job.
        guard ContinuousClock.now < end else { throw .tooLate }
        let token = SessionToken(random: Bytes32(randomBytes(SessionToken.randomBytes))!)
        let id = challenge.guest
        let proved = try await atStore { () async throws(StoreError) in
            try await self.guests.prove(
                id, signPublicKey: challenge.signPublicKey, encPublicKey: challenge.encPublicKey,
                tokenHash: token.hash, at: self.clock.store)
        }
        switch proved {
        case .otherKeys: return self.refused("other keys")
        case .noRoom: return .answer(Replies.noRoomForGuests, then: nil)
        case .banned:
            await self.recordRefusal(of: id)
            return .answer(Replies.bannedGuest, then: nil)
        case .done(let living, let replaced):
            await self.directory.proved(living, replaced: replaced)
            let ack = Replies.guestAck(living.guest, token: token, at: self.clock())
            // Before its first proof a guest has no connection that could end.
            guard living.guest.epoch > GuestTable.firstEpoch else { return .answer(ack, then: nil) }
            // The other way round a connection that proves again would hear that it was replaced, by itself.
            return .answer(ack, then: .guestEnded(id, before: living.guest.epoch, why: .replaced))
        }
    }

    /// The guest of a token; `nil` if it is nobody's.
    package func guest(_ tokenHash: Bytes32) async throws(HandlingError) -> Guest? {
        try await atStore { () async throws(StoreError) in try await self.directory.read(tokenHash) }
    }

    /// Records that a ban has refused a proof. The answer is the same if that fails.
    private func recordRefusal(of guest: GuestID) async {
        do throws(StoreError) {
            try await self.operators.recordRefusedLogin(of: .guest(guest))
        } catch {
            self.logger.warning("refused login not recorded", [.error: "\(error)"])
        }
    }

    private func refused(_ reason: String) -> Reaction {
        self.logger.debug("guest refused", [.reason: "\(reason)"])
        return .answer(Replies.guestRefused, then: nil)
    }
}
