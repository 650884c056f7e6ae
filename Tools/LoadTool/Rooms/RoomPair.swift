import Contract

/// A room of two in the measurement of rooms, and the frames that are said about it (contract §15). BOXes hold chance: the server
/// opens none.
final class RoomPair {
    let id = UUIDText.random()
    let host: Client
    let guest: Client
    private let proof = SigningKeys.random(LiveLimits.secretBytes)

    /// When the guest's join was due, in nanoseconds of `NIODeadline`, and who has been told of it.
    var joinDueAt: UInt64 = 0
    var isGuestIn = false
    var hasHostHeard = false
    /// Signals sent so far, and when those that nobody has heard yet were due: to the host, and to the guest.
    private(set) var sent = 0
    var underWayToHost: [UInt64] = []
    var underWayToGuest: [UInt64] = []

    /// Bytes of a description, and of a candidate, as browsers write them.
    private static let descriptionBytes = 1_500
    private static let candidateBytes = 200

    init(host: Client, guest: Client) {
        self.host = host
        self.guest = guest
    }

    var isOpen: Bool { self.isGuestIn && self.hasHostHeard }
    var outstanding: Int { self.underWayToHost.count + self.underWayToGuest.count }

    var create: RoomCreate {
        RoomCreate(
            self.id, signPublicKey: self.host.keys.sign, encPublicKey: self.host.keys.box,
            participantsMax: Int(RoomLimits.participantsDefault), code: RoomCodeWish(digits: 0),
            linkVerifier: Bytes32(SigningKeys.sha256(self.proof)))
    }

    var join: RoomJoin {
        RoomJoin(
            .room(self.id, linkProof: Bytes32(self.proof)), signPublicKey: self.guest.keys.sign,
            encPublicKey: self.guest.keys.box)
    }

    /// An offer, an answer, and candidates from both in turn.
    func nextSignal(dueAt time: UInt64) -> (frame: SendRoomSignal, from: Client) {
        let (from, to) = self.sent.isMultiple(of: 2) ? (self.host, self.guest) : (self.guest, self.host)
        let kind: RoomSignalKind = self.sent == 0 ? .offer : self.sent == 1 ? .answer : .candidate
        let bytes = kind == .candidate ? Self.candidateBytes : Self.descriptionBytes
        if self.sent.isMultiple(of: 2) { self.underWayToGuest.append(time) } else { self.underWayToHost.append(time) }
        self.sent += 1
        return (self.signal(kind, from: from, to: to, bytes: bytes), from)
    }

    private func signal(_ kind: RoomSignalKind, from: Client, to: Client, bytes: Int) -> SendRoomSignal {
        var signal = LiveSigned(
            from: from.id, timestamp: .now, nonce: SigningKeys.random(LiveLimits.nonceBytes),
            ciphertext: SigningKeys.random(bytes + LiveLimits.boxOverheadBytes), signature: Bytes64())
        let message = RoomSignature.message(signal, to: to.id, in: self.id)
        signal.signature = Bytes64(from.keys.sign(SigningKeys.sha256(message.bytes)))!
        return SendRoomSignal(kind, signal, to: to.id, in: self.id)
    }
}
