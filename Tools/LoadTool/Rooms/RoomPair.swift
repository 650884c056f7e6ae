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

    var create: String {
        self.frame(
            "room_create", self.host,
            #"\#(Self.keys(of: self.host)),"codeDigits":0,"linkVerifier":"\#(base64(SigningKeys.sha256(self.proof)))""#)
    }

    var join: String {
        self.frame("room_join", self.guest, #"\#(Self.keys(of: self.guest)),"linkProof":"\#(base64(self.proof))""#)
    }

    /// An offer, an answer, and candidates from both in turn.
    func nextSignal(dueAt time: UInt64) -> (frame: String, from: Client) {
        let (from, to) = self.sent.isMultiple(of: 2) ? (self.host, self.guest) : (self.guest, self.host)
        let kind: RoomSignalKind = self.sent == 0 ? .offer : self.sent == 1 ? .answer : .candidate
        let bytes = kind == .candidate ? Self.candidateBytes : Self.descriptionBytes
        if self.sent.isMultiple(of: 2) { self.underWayToGuest.append(time) } else { self.underWayToHost.append(time) }
        self.sent += 1
        return (self.signal(kind, from: from, to: to, bytes: bytes), from)
    }

    private func signal(_ kind: RoomSignalKind, from: Client, to: Client, bytes: Int) -> String {
        guard let sender = PrincipalID(from.whisperID), let peer = PrincipalID(to.whisperID) else {
            preconditionFailure("both are registered")
        }
        var signal = LiveSigned(
            from: sender, timestamp: .now, nonce: SigningKeys.random(LiveLimits.nonceBytes),
            ciphertext: SigningKeys.random(bytes + LiveLimits.boxOverheadBytes), signature: Self.unsigned)
        let message = RoomSignature.message(signal, to: peer, in: self.id)
        signal.signature = Bytes64(from.keys.sign(SigningKeys.sha256(message.bytes)))!
        return self.frame(
            RoomSignature.type, from,
            #""kind":"\#(kind.rawValue)","to":"\#(peer)","from":"\#(sender)","timestamp":\#(signal.timestamp.milliseconds),"#
                + #""nonce":"\#(base64(signal.nonce))","ciphertext":"\#(base64(signal.ciphertext))","#
                + #""sig":"\#(base64(signal.signature.bytes))""#)
    }

    private static let unsigned = Bytes64(Array(repeating: 0, count: Limits.signatureBytes))!

    private func frame(_ type: String, _ client: Client, _ rest: String) -> String {
        #"{"type":"\#(type)","payload":{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"\#(client.token)","#
            + #""roomId":"\#(self.id)",\#(rest)}}"#
    }

    private static func keys(of client: Client) -> String {
        #""signPublicKey":"\#(base64(client.keys.publicKey))","encPublicKey":"\#(base64(client.keys.boxPublicKey))""#
    }
}
