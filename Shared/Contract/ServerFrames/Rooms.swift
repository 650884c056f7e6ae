/// "You have a seat in these." Answers `room_list` (contract §15.1).
package struct Rooms: ServerFrame {
    package let rooms: [RoomState]

    private static let rooms = TypedField<[RoomState]>.objects("rooms", count: 0...RoomLimits.roomsListedMax)

    package static let definition = ServerFrameDefinition(
        "rooms", about: "All rooms in which the caller has a seat.", answers: [RoomList.definition.type],
        fields: [Self.rooms.field],
        samples: [#"{"rooms":[{"# + RoomState.sampleMembers + "}]}", #"{"rooms":[]}"#])

    package init(_ rooms: [RoomState]) { self.rooms = rooms }

    package init(_ payload: Payload) throws(Payload.Corrupted) { self.rooms = try payload[Self.rooms] }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 64 + 1_024 * self.rooms.count)
        json.add(Self.rooms, self.rooms)
        return json.finished()
    }
}
