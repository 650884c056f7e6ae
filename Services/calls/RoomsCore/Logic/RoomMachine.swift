package import ClusterContract
package import Contract
package import Jobs

/// The rooms that one process has in memory, of the shares that it owns.
package typealias RoomBook = MachineBook<RoomMachine>

/// One room: its seats, the ways into it, and the connections of its participants.
package struct RoomMachine: BookedMachine {
    package let id: UUIDText
    package let creator: PrincipalID
    package let createdAt: Timestamp
    package var host: PrincipalID
    package var participantsMax: Int
    package var isLocked = false
    package var revision: Int64 = 1
    package var nextSeat = 1
    /// Somebody else has joined.
    package var wasAccepted = false
    package let linkVerifier: Bytes32?
    package var code: Code?
    package var participants: [PrincipalID: Participant] = [:]
    /// Participants who were removed.
    package var barred: [PrincipalID: Barred] = [:]
    /// When somebody was last known to be connected.
    package var connectedAt: Timestamp

    package struct Code: Equatable, Sendable {
        package let code: JoinCode
        package let expiresAt: Timestamp
        package let pin: Pin?
        package var wrongPins = 0

        package struct Pin: Equatable, Sendable {
            package let salt: [UInt8]
            /// The digest of salt and digits.
            package let hash: Bytes32

            package init(salt: [UInt8], hash: Bytes32) {
                self.salt = salt
                self.hash = hash
            }
        }

        package init(code: JoinCode, expiresAt: Timestamp, pin: Pin?, wrongPins: Int = 0) {
            self.code = code
            self.expiresAt = expiresAt
            self.pin = pin
            self.wrongPins = wrongPins
        }
    }

    package struct Barred: Equatable, Sendable {
        /// That was the room's then.
        package let code: String
        package let since: Timestamp
    }

    package struct Participant: Equatable, Sendable {
        package let seat: Int
        package let via: RoomParticipant.Way
        /// By which it came in, if by one.
        package let joinedCode: String?
        package let signPublicKey: Bytes32
        package let encPublicKey: Bytes32
        package let joinedAt: Timestamp
        /// `nil`: away.
        package var place: LiveConnection?
        /// When the connection ended. It is away after a while.
        package var goneAt: Timestamp?
        package var awaySince: Timestamp?
        /// When it was last woken. In memory alone.
        package var wokenAt: Timestamp?
        /// When `place` took the seat over from another connection. In memory alone.
        package var movedAt: Timestamp?
        /// When `place` came. In memory alone.
        package var placedAt: Timestamp?

        package init(
            seat: Int, via: RoomParticipant.Way, joinedCode: String?, signPublicKey: Bytes32, encPublicKey: Bytes32,
            joinedAt: Timestamp, place: LiveConnection?
        ) {
            self.seat = seat
            self.via = via
            self.joinedCode = joinedCode
            self.signPublicKey = signPublicKey
            self.encPublicKey = encPublicKey
            self.joinedAt = joinedAt
            self.place = place
        }

        /// Where Notices reach it.
        package var reachable: LiveConnection? { self.goneAt == nil ? self.place : nil }
    }

    package init(
        id: UUIDText, creator: PrincipalID, createdAt: Timestamp, participantsMax: Int, linkVerifier: Bytes32?
    ) {
        self.id = id
        self.creator = creator
        self.createdAt = createdAt
        self.host = creator
        self.participantsMax = participantsMax
        self.linkVerifier = linkVerifier
        self.connectedAt = createdAt
    }

    /// A room remembers only the newest participants that it has barred.
    mutating func bar(_ participant: PrincipalID, at now: Timestamp) {
        self.barred[participant] = Barred(code: self.code?.code.text ?? "", since: now)
        guard self.barred.count > RoomLimits.barredMax else { return }
        let oldest = self.barred.sorted { ($0.value.since, "\($0.key)") < ($1.value.since, "\($1.key)") }
        for (barred, _) in oldest.prefix(self.barred.count - RoomLimits.barredMax) { self.barred[barred] = nil }
    }

    // MARK: What others see

    package var isFull: Bool { self.participants.count >= self.participantsMax }
    /// Nobody is here: no time runs in memory.
    package var isQuiet: Bool { self.participants.values.allSatisfy { $0.place == nil } }
    package var hasConnected: Bool { self.participants.values.contains { $0.place != nil } }

    /// Whether time does something to it now.
    package func isDue(at now: Timestamp) -> Bool {
        if let code, code.expiresAt <= now { return true }
        if !self.hasConnected, self.expiresAt <= now { return true }
        if let since = self.participants[self.host]?.awaySince, since + RoomLimits.hostAbsenceMax <= now { return true }
        return self.participants.values.contains { participant in
            participant.goneAt.map { $0 + RoomLimits.absenceMax <= now } ?? false
        }
    }

    /// The gateways of its participants.
    package var nodes: [NodeID] { self.participants.values.compactMap { $0.reachable?.node } }

    /// When it ends, if nobody connects any more (contract §15.4).
    package var expiresAt: Timestamp {
        let hasIdentity = self.participants.keys.contains { if case .identity = $0 { true } else { false } }
        return self.connectedAt + (hasIdentity ? RoomLimits.roomTTL : RoomLimits.guestsRoomTTL)
    }

    /// By seats.
    package var seated: [(id: PrincipalID, participant: Participant)] {
        self.participants.sorted { $0.value.seat < $1.value.seat }.map { (id: $0.key, participant: $0.value) }
    }

    /// The participant that becomes host when there is none (contract §15.4).
    package var nextHost: PrincipalID? {
        let seated = self.seated
        return (seated.first { $0.participant.place != nil } ?? seated.first)?.id
    }

    package func state(isClosed: Bool = false) -> RoomState {
        RoomState(
            room: self.id, host: self.host, participantsMax: self.participantsMax, isLocked: self.isLocked,
            revision: self.revision, phase: isClosed ? .closed : self.wasAccepted ? .accepted : .pending,
            expiresAt: self.expiresAt,
            participants: self.seated.map { id, participant in
                RoomParticipant(
                    participant: id, seat: participant.seat, via: participant.via,
                    isConnected: participant.place != nil, joinedAt: participant.joinedAt,
                    signPublicKey: participant.signPublicKey, encPublicKey: participant.encPublicKey)
            })
    }
}
