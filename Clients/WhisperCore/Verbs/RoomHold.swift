import Contract
import WhisperClient

extension Verb {
    private static let isEntered = TypedField.bool(
        "isEntered", about: "Whether this program has entered it already, by a code. Default: false."
    ).optional

    static let roomHold = Verb(
        "room_hold", of: "rooms",
        about:
            "Before `room_create` or `room_join`, or after it if a code led there: when this program has gone, the core leaves the room. It lasts as long as the room is open for us. `busy`: another program holds it, or has entered it.",
        [RoomParameters.room.field, Self.isEntered.field], type: "held", [Field("roomId", .lowerCaseUUID)],
        errors: [.noIdentity, .busy, .tooMany, .unsupported],
        samples: (RoomParameters.sampleRoom, #"{"type":"held",\#(Shapes.sampleRoomID)}"#),
        .program { program, opened, parameters, json in
            let id = try parameters[RoomParameters.room]
            let isEntered = try parameters[Self.isEntered] ?? false
            try await program.hold(.room(id)) { isEntered ? false : await opened.with { $0.rooms[id] } != nil }
            json.add("roomId", id)
        })
}
