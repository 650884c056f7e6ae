/// "The room is over." Answered by `room_left` (contract §15.1).
package struct RoomClose: BareRoomFrame {
    package let room: UUIDText

    package static let definition = FrameDefinition(
        "room_close", about: "Ends the room for all. Idempotent.",
        route: .share(of: "roomId"), principal: .either, rate: Rates.roomControl,
        fields: LiveFields.either + [RoomFields.room.field],
        refusals: [RoomFields.notHost],
        samples: [LiveFields.guestSample(RoomFields.sampleRoom)])

    package init(_ room: UUIDText) { self.room = room }
}
