package import ClusterContract
package import Contract
package import Participants

/// A frame about rooms, read and of the right shape.
package struct RoomFrame: Sendable {
    package enum Body: Sendable {
        case create(RoomCreate)
        case code(RenewRoomCode)
        case join(RoomJoin)
        case signal(SendRoomSignal)
        case update(RoomUpdate)
        case remove(RoomRemove)
        case poke(UUIDText)
        case leave(UUIDText)
        case close(UUIDText)
        case turn(UUIDText)
        case list
        case purge

        /// - Returns: `nil` if it is no frame about rooms.
        package init?(_ type: String, _ payload: Payload) throws(Payload.Corrupted) {
            switch type {
            case RoomCreate.definition.type: self = .create(try RoomCreate(payload))
            case RenewRoomCode.definition.type: self = .code(try RenewRoomCode(payload))
            case RoomJoin.definition.type: self = .join(try RoomJoin(payload))
            case SendRoomSignal.definition.type: self = .signal(try SendRoomSignal(payload))
            case RoomUpdate.definition.type: self = .update(try RoomUpdate(payload))
            case RoomRemove.definition.type: self = .remove(try RoomRemove(payload))
            case RoomPoke.definition.type: self = .poke(try RoomPoke(payload).room)
            case RoomLeave.definition.type: self = .leave(try RoomLeave(payload).room)
            case RoomClose.definition.type: self = .close(try RoomClose(payload).room)
            case RoomTurn.definition.type: self = .turn(try RoomTurn(payload).room)
            case RoomList.definition.type: self = .list
            case RoomPurge.definition.type: self = .purge
            default: return nil
            }
        }

        /// The room that it names. A join by code names none.
        package var room: UUIDText? {
            switch self {
            case .create(let frame): return frame.room
            case .code(let frame): return frame.room
            case .join(let frame):
                if case .room(let room, _) = frame.key { return room }
                return nil
            case .signal(let frame): return frame.room
            case .update(let frame): return frame.room
            case .remove(let frame): return frame.room
            case .poke(let room), .leave(let room), .close(let room), .turn(let room): return room
            case .list, .purge: return nil
            }
        }

        /// The code that it tries.
        package var guess: JoinCode? {
            if case .join(let frame) = self, case .code(let code, _) = frame.key { code } else { nil }
        }

        package var isGuess: Bool {
            if case .join(let frame) = self, case .code = frame.key { true } else { false }
        }

        /// It may need a new code.
        package var wantsCode: Bool {
            switch self {
            case .create(let frame): frame.code.wantsCode
            case .code(let frame): frame.code.wantsCode
            default: false
            }
        }

        /// Its answer may name relays.
        package var wantsRelays: Bool {
            switch self {
            case .create, .join, .turn: true
            default: false
            }
        }

        /// It concerns all rooms of its sender.
        package var isAboutAll: Bool {
            switch self {
            case .list, .purge: true
            default: false
            }
        }
    }

    package var body: Body
    package var principal: Principal
    package var connection: LiveConnection
    /// By its gateway's clock.
    package var receivedAt: Timestamp
    /// Names the client's address among others.
    package var origin: UInt64

    package init(
        _ body: Body, from principal: Principal, on connection: LiveConnection, receivedAt: Timestamp,
        origin: UInt64 = 0
    ) {
        self.body = body
        self.principal = principal
        self.connection = connection
        self.receivedAt = receivedAt
        self.origin = origin
    }
}

/// Facts of tables and settings about the principals of a batch.
package struct RoomFacts: Sendable {
    /// Identities, and guests by their proofs.
    package var accounts: [PrincipalID: AccountStatus] = [:]
    /// The rooms of the codes that callers try, also of codes that were retired within a day.
    package var codes: [JoinCode: UUIDText] = [:]
    /// How many rooms a principal hosts, and in how many it has a seat, before the batch.
    package var hosted: [PrincipalID: Int] = [:]
    package var seats: [PrincipalID: Int] = [:]
    /// All rooms of those who list or purge.
    package var rooms: [PrincipalID: [RoomMachine]] = [:]
    /// Codes that nobody has, by digits.
    package var freeCodes: [Int: [JoinCode]] = [:]
    /// Codes that open a room or rest, by digits. A minute old.
    package var codeCounts: [Int: Int] = [:]
    package var guesses = Guesses()
    package var relays = Relays()
    /// Random; for pins.
    package var salt: [UInt8] = []

    /// Misses of all processes within `RoomLimits.missWindow`.
    package struct Guesses: Sendable {
        package var misses = 0
        package var origins = 0
        /// When fewer than `RoomLimits.missesMax` are left in the window.
        package var milliseconds: Int64 = 0

        package init(misses: Int = 0, origins: Int = 0, milliseconds: Int64 = 0) {
            self.misses = misses
            self.origins = origins
            self.milliseconds = milliseconds
        }

        /// Guests may not try short codes now (contract §15.3, §19.25a).
        package var isUnderAttack: Bool {
            self.misses >= RoomLimits.missesMax && self.origins >= RoomLimits.missAddressesMin
        }
    }

    /// The parts of credentials for relays. Without keys no credentials can be made.
    package struct Relays: Sendable {
        package var turn: TurnConfiguration?
        package var identities: (period: RelayPeriod, key: [UInt8])?
        package var guests: (period: RelayPeriod, key: [UInt8])?

        package init() {}

        func credentials(for principal: PrincipalID, at now: Timestamp) -> TurnCredentialsFrame? {
            let made =
                switch principal {
                case .identity: self.identities
                case .guest: self.guests
                }
            guard let (urls, secret) = self.turn?.relays(for: principal), let (period, key) = made else { return nil }
            return TurnCredentials(
                secret: secret, pseudonym: period.pseudonym(of: principal, key: key), expiresAt: period.expiresAt
            ).frame(urls: urls, ttl: period.remaining(at: now))
        }
    }

    package init() {}
}

extension Refusal {
    /// The same for an unknown room, one that is not the caller's, and every wrong code.
    static let noSuchRoom = Refusal(.notFound, "no such room")
    static let notHost = Refusal(.forbidden, "only the host may do this")
}
