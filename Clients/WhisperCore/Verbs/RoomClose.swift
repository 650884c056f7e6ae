import Contract
import WhisperClient

extension Verb {
    static let roomClose = Verb(
        "room_close", of: "rooms",
        about: "Ends a room that we host, for everybody.",
        [RoomParameters.room.field], type: "roomLeft", [Field("roomId", .lowerCaseUUID)],
        errors: RoomParameters.errors,
        samples: (RoomParameters.sampleRoom, #"{"type":"roomLeft",\#(Shapes.sampleRoomID)}"#),
        .server { opened, parameters, json in
            let id = try parameters[RoomParameters.room]
            try await opened.ending(.room(id)) { try await $0.rooms.close(id, $0) }
            json.add("roomId", id)
        })
}
