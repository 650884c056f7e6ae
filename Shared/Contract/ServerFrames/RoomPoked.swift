/// "So many were woken." Answers `room_poke` (contract §15.1).
package struct RoomPoked: ServerFrame {
    package let room: UUIDText
    package let woken: Int

    private static let woken = TypedField.integer(
        "woken", 0...RoomLimits.participants.upperBound,
        about: "Identities that are away and were not woken just before.")

    package static let definition = ServerFrameDefinition(
        "room_poked", about: "How many are woken by push.", answers: [RoomPoke.definition.type],
        fields: [RoomFields.room.field, Self.woken.field], samples: ["{" + RoomFields.sampleRoom + #","woken":1}"#])

    package init(room: UUIDText, woken: Int) {
        self.room = room
        self.woken = woken
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.init(room: try payload[RoomFields.room], woken: Int(try payload[Self.woken]))
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(RoomFields.room, self.room)
        json.add(Self.woken, Int64(self.woken))
        return json.finished()
    }
}
