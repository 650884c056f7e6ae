/// "Wake those who are away." Answered by `room_poked` (contract §15.1).
package struct RoomPoke: BareRoomFrame {
    package let room: UUIDText

    package static let definition = FrameDefinition(
        "room_poke", about: "Wakes the identities that are away by push, each once a minute.",
        route: .share(of: "roomId"), principal: .either, rate: Rates.roomPokes,
        fields: LiveFields.either + [RoomFields.room.field],
        refusals: [RoomFields.notFound],
        samples: [LiveFields.guestSample(RoomFields.sampleRoom)])

    package init(_ room: UUIDText) { self.room = room }
}
