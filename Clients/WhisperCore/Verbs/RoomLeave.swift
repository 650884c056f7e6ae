import Contract
import WhisperClient

extension Verb {
    static let roomLeave = Verb(
        "room_leave", of: "rooms",
        about:
            "Gives our seat up. Participants who talk with us are told first. The host's leaving hands the room over.",
        [RoomParameters.room.field], type: "roomLeft", [Field("roomId", .lowerCaseUUID)],
        errors: RoomParameters.errors,
        samples: (RoomParameters.sampleRoom, #"{"type":"roomLeft",\#(Shapes.sampleRoomID)}"#),
        .server { opened, parameters, json in
            let id = try parameters[RoomParameters.room]
            try await opened.ending(.room(id)) { try await $0.rooms.leave(id, $0) }
            json.add("roomId", id)
        })
}
