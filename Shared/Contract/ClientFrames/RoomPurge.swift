/// "Out of everything." Answered by `room_purged` (contract §15.1).
package struct RoomPurge: BareFrame {
    package static let definition = FrameDefinition(
        "room_purge", about: "Leaves all rooms, and closes those that the caller hosts.",
        route: .ownShare, principal: .either, rate: Rates.roomControl, fields: LiveFields.either,
        samples: [LiveFields.guestSample()])

    package init() {}
}
