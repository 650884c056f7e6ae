import Contract
import WhisperClient

extension Verb {
    private static let host = TypedField.principalID("host", about: "Another participant, who becomes host.").optional
    private static let isLocked = TypedField.bool("isLocked", about: "Whether nobody new may join.").optional

    static let roomUpdate = Verb(
        "room_update", of: "rooms", about: "Changes a room that we host. At least one of the three is to be there.",
        [RoomParameters.room.field, Self.host.field, RoomParameters.participantsMax.field, Self.isLocked.field],
        type: "room", [Field("room", .object(Shapes.room), .optional)], errors: RoomParameters.errors,
        samples: (#"{\#(Shapes.sampleRoomID),"isLocked":true}"#, RoomParameters.sample),
        .server { opened, parameters, json in
            let host = try parameters[Self.host]
            let participantsMax = try parameters[RoomParameters.participantsMax].map { Int($0) }
            let isLocked = try parameters[Self.isLocked]
            guard host != nil || participantsMax != nil || isLocked != nil else {
                throw CoreError(.invalidField, "Nothing is to change.")
            }
            let id = try parameters[RoomParameters.room]
            let room = try await opened.with {
                try await $0.rooms.update(id, host: host, participantsMax: participantsMax, isLocked: isLocked, $0)
            }
            if let room { json.add("room", object: room) { Shapes.write($0, &$1) } }
        })
}
