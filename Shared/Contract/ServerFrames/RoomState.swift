/// A room as its participants see it. The newest revision counts (contract §15.1).
package struct RoomState: ObjectValue, Hashable {
    package enum Phase: String, CaseIterable, Sendable {
        /// The creator has been alone so far.
        case pending
        case accepted
        case closed
    }

    package let room: UUIDText
    package let host: PrincipalID
    package let participantsMax: Int
    package let isLocked: Bool
    package let revision: Int64
    package let phase: Phase
    package let expiresAt: Timestamp
    package let participants: [RoomParticipant]

    private static let revision = TypedField.integer(
        "revision", 1...Limits.numberMax, about: "Counts the changes. The newest state counts.")
    private static let phase = TypedField<Phase>.choice("state")
    private static let expiresAt = TypedField.timestamp(
        "expiresAt", about: "When the room ends, if nobody connects any more.")
    private static let participants = TypedField<[RoomParticipant]>.objects(
        "participants", count: 0...Int(RoomLimits.participants.upperBound))

    static let fields = [
        RoomFields.room.field, RoomFields.host.field, RoomFields.participantsMax.field, RoomFields.isLocked.field,
        Self.revision.field, Self.phase.field, Self.expiresAt.field, Self.participants.field,
    ]
    static let schema = ObjectSchema(Self.fields)

    static let sampleMembers =
        RoomFields.sampleRoom
        + #","host":"\#(LiveFields.sampleIdentity)","participantsMax":2,"isLocked":false,"revision":2,"state":"accepted","expiresAt":1732592000000,"participants":["#
        + RoomParticipant.sample + "]"

    package init(
        room: UUIDText, host: PrincipalID, participantsMax: Int, isLocked: Bool, revision: Int64, phase: Phase,
        expiresAt: Timestamp, participants: [RoomParticipant]
    ) {
        self.room = room
        self.host = host
        self.participantsMax = participantsMax
        self.isLocked = isLocked
        self.revision = revision
        self.phase = phase
        self.expiresAt = expiresAt
        self.participants = participants
    }

    init(_ payload: Payload) throws(Payload.Corrupted) {
        self.room = try payload[RoomFields.room]
        self.host = try payload[RoomFields.host]
        self.participantsMax = Int(try payload[RoomFields.participantsMax])
        self.isLocked = try payload[RoomFields.isLocked]
        self.revision = try payload[Self.revision]
        self.phase = try payload[Self.phase]
        self.expiresAt = try payload[Self.expiresAt]
        self.participants = try payload[Self.participants]
    }

    func write(to json: inout JSONWriter) {
        json.add(RoomFields.room, self.room)
        json.add(RoomFields.host, self.host)
        json.add(RoomFields.participantsMax, Int64(self.participantsMax))
        json.add(RoomFields.isLocked, self.isLocked)
        json.add(Self.revision, self.revision)
        json.add(Self.phase, self.phase)
        json.add(Self.expiresAt, self.expiresAt)
        json.add(Self.participants, self.participants)
    }

    var json: [UInt8] {
        var json = JSONWriter(capacity: 256 + 320 * self.participants.count)
        self.write(to: &json)
        return json.finished()
    }
}

/// Somebody who has a seat in a room.
package struct RoomParticipant: ObjectValue, Hashable {
    /// How somebody came in.
    package enum Way: String, CaseIterable, Sendable {
        case creator, code, link
    }

    package let participant: PrincipalID
    package let seat: Int
    package let via: Way
    package let isConnected: Bool
    package let joinedAt: Timestamp
    package let signPublicKey: Bytes32
    package let encPublicKey: Bytes32

    static let seat = TypedField.integer(
        "seat", RoomLimits.seats, about: "From 1. Of each pair the one with the lower seat offers.")
    private static let via = TypedField<Way>.choice("via")
    private static let isConnected = TypedField.bool("isConnected")
    private static let joinedAt = TypedField.timestamp("joinedAt")

    static let schema = ObjectSchema([
        RoomFields.participant.field, Self.seat.field, Self.via.field, Self.isConnected.field, Self.joinedAt.field,
        LiveFields.signPublicKey.field, LiveFields.encPublicKey.field,
    ])
    static let sample =
        #"{"participant":"\#(LiveFields.sampleIdentity)","seat":1,"via":"creator","isConnected":true,"joinedAt":1730000000000,"#
        + LiveFields.sampleKeys + "}"

    package init(
        participant: PrincipalID, seat: Int, via: Way, isConnected: Bool, joinedAt: Timestamp, signPublicKey: Bytes32,
        encPublicKey: Bytes32
    ) {
        self.participant = participant
        self.seat = seat
        self.via = via
        self.isConnected = isConnected
        self.joinedAt = joinedAt
        self.signPublicKey = signPublicKey
        self.encPublicKey = encPublicKey
    }

    init(_ payload: Payload) throws(Payload.Corrupted) {
        self.participant = try payload[RoomFields.participant]
        self.seat = Int(try payload[Self.seat])
        self.via = try payload[Self.via]
        self.isConnected = try payload[Self.isConnected]
        self.joinedAt = try payload[Self.joinedAt]
        guard let sign = Bytes32(try payload[LiveFields.signPublicKey]),
            let enc = Bytes32(try payload[LiveFields.encPublicKey])
        else { throw Payload.Corrupted() }
        (self.signPublicKey, self.encPublicKey) = (sign, enc)
    }

    var json: [UInt8] {
        var json = JSONWriter(capacity: 320)
        json.add(RoomFields.participant, self.participant)
        json.add(Self.seat, Int64(self.seat))
        json.add(Self.via, self.via)
        json.add(Self.isConnected, self.isConnected)
        json.add(Self.joinedAt, self.joinedAt)
        json.add(LiveFields.signPublicKey, self.signPublicKey.bytes)
        json.add(LiveFields.encPublicKey, self.encPublicKey.bytes)
        return json.finished()
    }
}
