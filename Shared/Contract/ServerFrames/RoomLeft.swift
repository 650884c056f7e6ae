/// "You have no seat there." Answers `room_leave` and `room_close` (contract §15.1).
package struct RoomLeft: ServerFrame {
    package let room: UUIDText

    package static let definition = ServerFrameDefinition(
        "room_left", about: "The caller has no seat in the room.",
        answers: [RoomLeave.definition.type, RoomClose.definition.type],
        fields: [RoomFields.room.field], samples: ["{" + RoomFields.sampleRoom + "}"])

    package init(_ room: UUIDText) { self.room = room }

    package init(_ payload: Payload) throws(Payload.Corrupted) { self.room = try payload[RoomFields.room] }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(RoomFields.room, self.room)
        return json.finished()
    }
}
