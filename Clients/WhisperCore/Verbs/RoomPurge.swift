import Contract
import WhisperClient

extension Verb {
    private static let count = FieldType.integer(0...Int64(RoomLimits.roomsListedMax))

    static let roomPurge = Verb(
        "room_purge", of: "rooms", about: "Gives up all our seats, and ends the rooms that we host.",
        type: "roomPurged",
        [Field("left", Self.count, about: "Rooms left."), Field("closed", Self.count, about: "Rooms ended.")],
        errors: RoomParameters.errors, samples: ("{}", #"{"type":"roomPurged","left":2,"closed":1}"#),
        .server { opened, _, json in
            let purged = try await opened.with { try await $0.rooms.purge($0) }
            json.add("left", Int64(purged?.left ?? 0))
            json.add("closed", Int64(purged?.closed ?? 0))
        })
}
