import Contract
import WhisperClient

extension Verb {
    static let roomRemove = Verb(
        "room_remove", of: "rooms",
        about: "Sends somebody out of a room that we host. They cannot come back by the same code or link.",
        [RoomParameters.room.field, RoomParameters.participant.field], type: "roomRemoved",
        [Field("roomId", .lowerCaseUUID), Field("participant", .principalID)], errors: RoomParameters.errors,
        samples: (
            #"{\#(Shapes.sampleRoomID),"participant":"WSP-AAAA-AAAA-AAAA"}"#,
            #"{"type":"roomRemoved",\#(Shapes.sampleRoomID),"participant":"WSP-AAAA-AAAA-AAAA"}"#
        ),
        .server { opened, parameters, json in
            let (id, one) = (try parameters[RoomParameters.room], try parameters[RoomParameters.participant])
            try await opened.with { try await $0.rooms.remove(one, from: id, $0) }
            json.add("roomId", id)
            json.add("participant", "\(one)")
        })
}
