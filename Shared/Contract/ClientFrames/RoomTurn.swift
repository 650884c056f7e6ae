/// "How do I reach a relay?" Answered by `turn_credentials` (contract §15.1).
package struct RoomTurn: BareRoomFrame {
    package let room: UUIDText

    package static let definition = FrameDefinition(
        "room_turn",
        about: """
            Asks for relays, as `room_joined` brings them. A participant who was alone asks when somebody else has come.
            """,
        route: .share(of: "roomId"), principal: .either, rate: Rates.roomControl,
        fields: LiveFields.either + [RoomFields.room.field],
        refusals: [RoomFields.notFound, (.forbidden, "Nobody else has a seat in the room.")],
        samples: [LiveFields.guestSample(RoomFields.sampleRoom)])

    package init(_ room: UUIDText) { self.room = room }
}
