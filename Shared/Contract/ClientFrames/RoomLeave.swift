/// "I go." Answered by `room_left` (contract §15.1).
package struct RoomLeave: BareRoomFrame {
    package let room: UUIDText

    package static let definition = FrameDefinition(
        "room_leave",
        about: "Gives the seat up. The host hands the room over; the last one closes it. Idempotent, for any id.",
        route: .share(of: "roomId"), principal: .either, rate: Rates.roomControl,
        fields: LiveFields.either + [RoomFields.room.field],
        refusals: [],
        samples: [LiveFields.guestSample(RoomFields.sampleRoom)])

    package init(_ room: UUIDText) { self.room = room }
}
