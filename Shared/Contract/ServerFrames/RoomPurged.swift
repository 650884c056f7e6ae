/// "You are nowhere any more." Answers `room_purge` (contract §15.1, §19.27).
package struct RoomPurged: ServerFrame {
    package let left: Int
    package let closed: Int

    private static let left = TypedField.integer("left", 0...Int64(RoomLimits.roomsListedMax), about: "Rooms left.")
    private static let closed = TypedField.integer(
        "closed", 0...Int64(RoomLimits.roomsListedMax), about: "Rooms closed, which the caller hosted.")

    package static let definition = ServerFrameDefinition(
        "room_purged", about: "The caller has no seat anywhere.", answers: [RoomPurge.definition.type],
        fields: [Self.left.field, Self.closed.field], samples: [#"{"left":2,"closed":1}"#])

    package init(left: Int, closed: Int) {
        self.left = left
        self.closed = closed
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.init(left: Int(try payload[Self.left]), closed: Int(try payload[Self.closed]))
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(Self.left, Int64(self.left))
        json.add(Self.closed, Int64(self.closed))
        return json.finished()
    }
}
