import Contract
import WhisperClient

extension Verb {
    static let roomPoke = Verb(
        "room_poke", of: "rooms", about: "Wakes those who have a seat in the room and are away.",
        [RoomParameters.room.field], type: "roomPoked",
        [
            Field("roomId", .lowerCaseUUID),
            Field("woken", .integer(0...RoomLimits.participants.upperBound), about: "How many are woken."),
        ], errors: RoomParameters.errors,
        samples: (RoomParameters.sampleRoom, #"{"type":"roomPoked",\#(Shapes.sampleRoomID),"woken":1}"#),
        .server { opened, parameters, json in
            let id = try parameters[RoomParameters.room]
            let woken = try await opened.with { try await $0.rooms.poke(id, $0) }
            json.add("roomId", id)
            json.add("woken", Int64(woken))
        })
}
