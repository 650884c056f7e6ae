/// "You have no seat there." Answers `room_leave` and `room_close` (contract §15.1). It comes by itself to a connection that a
/// gateway has for a participant, while calls knows no such seat.
package struct RoomLeft: ServerFrame {
    package let room: UUIDText

    package static let definition = ServerFrameDefinition(
        "room_left",
        about: """
            The caller has no seat in the room. It comes by itself if the room has ended, or the seat has gone, and the frame \
            that said so was lost. Ask by `room_join`.
            """,
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
