/// "This opens the room now." Answers `room_code` (contract §15.1).
package struct RoomCodeFrame: ServerFrame {
    package let room: UUIDText
    package let code: String?
    package let codeExpiresAt: Timestamp?

    private static let code = RoomFields.code.about("Absent: the room has none.").optional
    private static let codeExpiresAt = RoomFields.codeExpiresAt.optional

    package static let definition = ServerFrameDefinition(
        "room_code", about: "The code from now on. The one before opens nothing more.",
        answers: [RenewRoomCode.definition.type],
        fields: [RoomFields.room.field, Self.code.field, Self.codeExpiresAt.field],
        samples: [
            "{" + RoomFields.sampleRoom + #","code":"402917","codeExpiresAt":1730000600000}"#,
            "{" + RoomFields.sampleRoom + "}",
        ])

    package init(room: UUIDText, code: String?, codeExpiresAt: Timestamp?) {
        self.room = room
        self.code = code
        self.codeExpiresAt = codeExpiresAt
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.room = try payload[RoomFields.room]
        self.code = try payload[Self.code]
        self.codeExpiresAt = try payload[Self.codeExpiresAt]
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(RoomFields.room, self.room)
        json.add(Self.code, self.code)
        json.add(Self.codeExpiresAt, self.codeExpiresAt)
        return json.finished()
    }
}
