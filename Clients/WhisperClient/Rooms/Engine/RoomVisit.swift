package import Contract

/// A room while our user is in it.
struct RoomVisit {
    /// The secret of the link by which we joined or created the room. Only this device decides that: the server cannot
    /// take the secret away by claiming that we joined without it.
    private(set) var secret: RoomSecret?
    var machine: MeshMachine
    var talk: TalkMachine
    private(set) var code: String?
    private(set) var codeExpiresAt: Timestamp?
    /// `nil`: no other participant has had a seat yet.
    var turn: TurnCredentialsFrame?
    /// For each participant, all ways by which the server has said that it joined.
    private var vias: [PrincipalID: Set<RoomParticipant.Way>] = [:]
    private var seats: [PrincipalID: Int] = [:]
    private var ownSeat: Int
    private var keys: [PrincipalID: PairKeys] = [:]
    /// Participants for which the server gave false keys. No signal is sent to them.
    private(set) var forged: Set<PrincipalID> = []
    /// The time of our last signal. It grows with each signal, to show their order.
    private var signalledAt = Timestamp(milliseconds: 0)

    init(_ joined: RoomJoined, own: PrincipalID, secret: RoomSecret?, isReturning: Bool, talk: TalkMachine) {
        self.talk = talk
        (self.secret, self.ownSeat) = (secret, joined.seat)
        self.machine = MeshMachine(room: joined.room.room, own: own, isReturning: isReturning)
        (self.code, self.codeExpiresAt, self.turn) = (joined.code, joined.codeExpiresAt, joined.turn)
    }

    /// We joined once more, and have a new seat. A secret is only added, never removed: the server chooses the room
    /// that a code opens.
    mutating func entered(_ joined: RoomJoined, with secret: RoomSecret?) {
        guard joined.seat > self.ownSeat else { return }
        self.ownSeat = joined.seat
        if let secret { (self.secret, self.keys) = (secret, [:]) }
    }

    /// The seats of all others, as the machine knows them.
    var othersSeats: [PrincipalID: Int] {
        let others = (self.machine.shown?.participants ?? []).filter { one in
            one.participant != self.machine.own && !self.forged.contains(one.participant)
        }
        return Dictionary(others.map { ($0.participant, $0.seat) }) { first, _ in first }
    }

    mutating func show(code: String?, until end: Timestamp?) { (self.code, self.codeExpiresAt) = (code, end) }

    func keys(of peer: PrincipalID) -> PairKeys? { self.keys[peer] }

    /// Learns the keys of all participants.
    mutating func learn(_ room: RoomState) {
        guard let own = room.participants.first(where: { $0.participant == self.machine.own }),
            own.seat >= self.ownSeat
        else { return }
        for other in room.participants where other.participant != own.participant {
            let id = other.participant
            // A participant that left and joined again may have joined without the secret. Its keys are the same.
            let seat = self.seats[id] ?? other.seat
            guard other.seat >= seat else { continue }
            if other.seat > seat { (self.vias[id], self.keys[id]) = (nil, nil) }
            self.seats[id] = other.seat
            // The room's maker has its first seat, and the secret of its link.
            let via = other.seat == Self.creatorSeat ? .creator : other.via
            let isNew = self.vias[id, default: []].insert(via).inserted
            guard isNew || self.keys[id] == nil else { continue }
            let keys = PublicKeys(sign: other.signPublicKey, box: other.encPublicKey)
            guard keys.belong(to: id) else {
                self.forged.insert(id)
                continue
            }
            self.keys[id] = PairKeys(secret: self.secret, other: keys, vias: self.vias[id] ?? [])
        }
    }

    private static let creatorSeat = 1

    /// - Parameter now: by the server's clock. If our last time is ahead of it, start from the present time: no server
    ///   would accept a later one.
    mutating func nextSignalTime(_ now: Timestamp) -> Timestamp {
        let next = Timestamp(milliseconds: self.signalledAt.milliseconds + 1)
        self.signalledAt = self.signalledAt.isAhead(of: now) ? now : max(now, next)
        return self.signalledAt
    }
}

/// A room as the user sees it.
package struct RoomView: Sendable, Equatable {
    package var room: RoomState
    package var own: PrincipalID
    /// For the host alone.
    package var code: String?
    package var codeExpiresAt: Timestamp?
    /// The secret of the room's link.
    package var secret: [UInt8]?
    /// `nil` while no other participant has had a seat.
    package var turn: TurnCredentialsFrame?
    /// Participants that content can be exchanged with now.
    package var linked: Set<PrincipalID>
    /// Numbers of the connections. A host whose stack has gone reports each of them as broken.
    package var links: [PrincipalID: Int]
    /// By which others call themselves, as far as they have said so.
    package var names: [PrincipalID: String]

    package init(
        room: RoomState, own: PrincipalID, code: String?, codeExpiresAt: Timestamp?, secret: [UInt8]?,
        turn: TurnCredentialsFrame?, linked: Set<PrincipalID>, links: [PrincipalID: Int],
        names: [PrincipalID: String] = [:]
    ) {
        self.room = room
        self.own = own
        self.code = code
        self.codeExpiresAt = codeExpiresAt
        self.secret = secret
        self.turn = turn
        self.linked = linked
        self.links = links
        self.names = names
    }

    package var others: [RoomParticipant] { self.room.participants.filter { $0.participant != self.own } }

    /// A number that both compare by voice (contract §15.2).
    package func safetyNumber(with peer: RoomParticipant) -> String? {
        self.room.participants.first { $0.participant == self.own }.map {
            SafetyNumber.text(
                room: self.room.room, PublicKeys(sign: $0.signPublicKey, box: $0.encPublicKey),
                PublicKeys(sign: peer.signPublicKey, box: peer.encPublicKey))
        }
    }

    package func link(origin: String) -> RoomLink? {
        self.secret.map { RoomLink(origin: origin, room: self.room.room, secret: SecretBytes($0)) }
    }
}

/// An event of a room, for the application.
package enum RoomNews: Sendable, Equatable {
    /// The present state of the room.
    case shown(RoomView)
    /// A change of the room, and the participant that it concerns.
    case told(RoomEvent.Event, PrincipalID?)
    /// For the WebRTC stack: about connection `number` to a participant.
    case link(PrincipalID, number: Int, LinkOrder)
    /// The server gave false keys for this participant. They are not used.
    case forged(PrincipalID)
    /// For the WebRTC stack: a text for a channel of connection `number`.
    case data(PrincipalID, number: Int, TalkMachine.Channel, String)
    /// A message of a participant, with the name that it has given itself.
    case message(PrincipalID, name: String?, TalkMessage)
    /// The state of a message of ours for a participant.
    case messageState(UUIDText, PrincipalID, TalkMachine.State)
    case person(PrincipalID, TalkPerson)
    case over(MeshMachine.End)
}
