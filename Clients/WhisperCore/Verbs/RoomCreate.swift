import Contract
import WhisperClient

extension Verb {
    private static let roomID = TypedField.lowerCaseUUID(
        "roomId", about: "The id that the room is to have. The same command again is the same room."
    ).optional
    private static let hasLink = TypedField.bool("hasLink", about: "Whether a link opens it too. Default: true.")
        .optional

    static let roomCreate = Verb(
        "room_create", of: "rooms",
        about: "Opens a room for WebRTC, enters it and stays in it until `room_leave`, `room_close` or `disconnect`.",
        [Self.roomID.field, RoomParameters.participantsMax.field] + RoomParameters.code(RoomLimits.codeTTL) + [
            Self.hasLink.field
        ],
        type: "room", RoomParameters.result, errors: RoomParameters.errors,
        samples: (#"{"participantsMax":2,"codeDigits":6}"#, RoomParameters.sample),
        .server { opened, parameters, json in
            let (known, hasLink) = (try parameters[Self.roomID], try parameters[Self.hasLink] ?? true)
            let wish = RoomWish(
                room: known ?? .random(),
                participantsMax: Int(try parameters[RoomParameters.participantsMax] ?? RoomLimits.participantsDefault),
                code: try RoomParameters.code(parameters, RoomLimits.codeTTL),
                secret: try await opened.with { try $0.rooms.secret(of: known, isWanted: hasLink) })
            try await opened.writeRoom(try await opened.with { try await $0.rooms.create(wish, $0) }, &json)
        })
}
