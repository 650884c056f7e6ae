/// "You are in." Answers `room_create` and `room_join` (contract §15.1). The relays come with it, once there is somebody to talk
/// with (contract §13b).
package struct RoomJoined: ServerFrame {
    package let room: RoomState
    /// The reader's own.
    package let seat: Int
    /// For the host alone.
    package let code: String?
    package let codeExpiresAt: Timestamp?
    package let turn: TurnCredentialsFrame?

    private static let code = RoomFields.code.about("For the host alone.").optional
    private static let codeExpiresAt = RoomFields.codeExpiresAt.optional
    private static let turn = TypedField<TurnCredentialsFrame>.object(
        "turn",
        about: "As in `turn_credentials`. Absent while nobody else has a seat: ask `room_turn` when somebody comes."
    ).optional

    package static let definition = ServerFrameDefinition(
        "room_joined", about: "The room as it is now, and relays to use in it once somebody else has a seat.",
        answers: [RoomCreate.definition.type, RoomJoin.definition.type],
        fields: RoomState.fields + [
            RoomParticipant.seat.field, Self.code.field, Self.codeExpiresAt.field, Self.turn.field,
        ],
        samples: [
            "{" + RoomState.sampleMembers + #","seat":1,"code":"402917","codeExpiresAt":1730000600000,"turn":"#
                + TurnCredentialsFrame.sample + "}",
            "{" + RoomState.sampleMembers + #","seat":1}"#,
        ])

    package init(room: RoomState, seat: Int, code: String?, codeExpiresAt: Timestamp?, turn: TurnCredentialsFrame?) {
        self.room = room
        self.seat = seat
        self.code = code
        self.codeExpiresAt = codeExpiresAt
        self.turn = turn
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.room = try RoomState(payload)
        self.seat = Int(try payload[RoomParticipant.seat])
        self.code = try payload[Self.code]
        self.codeExpiresAt = try payload[Self.codeExpiresAt]
        self.turn = try payload[Self.turn]
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 1_024 + 320 * self.room.participants.count)
        self.room.write(to: &json)
        json.add(RoomParticipant.seat, Int64(self.seat))
        json.add(Self.code, self.code)
        json.add(Self.codeExpiresAt, self.codeExpiresAt)
        json.add(Self.turn, self.turn)
        return json.finished()
    }
}
