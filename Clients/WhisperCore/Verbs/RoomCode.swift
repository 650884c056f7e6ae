import Contract
import WhisperClient

extension Verb {
    private static let seconds = 0...RoomLimits.codeTTL.upperBound

    static let roomCode = Verb(
        "room_code", of: "rooms",
        about:
            "Draws another code for a room that we host. The one before opens nothing more. With 0 seconds there is none.",
        [RoomParameters.room.field] + RoomParameters.code(Self.seconds), type: "roomCode",
        [
            Field("roomId", .lowerCaseUUID), Field("code", .digits(RoomLimits.codeCharacters), .optional),
            Field("codeExpiresAt", .timestamp, .optional),
        ], errors: RoomParameters.errors,
        samples: (
            #"{\#(Shapes.sampleRoomID),"codeDigits":8,"pin":"4711"}"#,
            #"{"type":"roomCode",\#(Shapes.sampleRoomID),"code":"40291735","codeExpiresAt":1767226200000}"#
        ),
        .server { opened, parameters, json in
            let id = try parameters[RoomParameters.room]
            let wish = try RoomParameters.code(parameters, Self.seconds)
            let code = try await opened.with { try await $0.rooms.renewCode(wish, of: id, $0) }
            json.add("roomId", id)
            json.add("code", code?.code)
            if let end = code?.codeExpiresAt { json.add("codeExpiresAt", end) }
        })
}
