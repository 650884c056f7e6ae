import Contract
import WhisperClient

extension Verb {
    static let roomList = Verb(
        "room_list", of: "rooms", about: "Asks in which rooms we have a seat, entered or not.", type: "rooms",
        [Field("rooms", .array(of: .object(Shapes.room), count: 0...RoomLimits.roomsListedMax))],
        errors: RoomParameters.errors, samples: ("{}", #"{"type":"rooms","rooms":[]}"#),
        .server { opened, _, json in
            let rooms = try await opened.with { try await $0.rooms.list($0) }.prefix(RoomLimits.roomsListedMax)
            json.add("rooms", objects: rooms) { Shapes.write($0, &$1) }
        })
}
