/// "Where am I?" Answered by `rooms` (contract §15.1).
package struct RoomList: BareFrame {
    package static let definition = FrameDefinition(
        "room_list", about: "Asks for all rooms in which the caller has a seat.",
        route: .ownShare, principal: .either, rate: Rates.roomControl, fields: LiveFields.either,
        samples: [LiveFields.guestSample()])

    package init() {}
}
