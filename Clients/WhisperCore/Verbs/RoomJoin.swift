import Contract
import WhisperClient

extension Verb {
    private static let code = TypedField.digits("code", RoomLimits.codeCharacters, about: "6, 8 or 10 digits.").optional
    private static let link = TypedField.text("link", 1...1_000, about: "The link of a room.").optional
    private static let roomID = TypedField.lowerCaseUUID("roomId", about: "A room in which we have a seat.").optional

    static let roomJoin = Verb(
        "room_join", of: "rooms",
        about:
            "Enters a room by exactly one of `code`, `link` and `roomId`, and stays in it. Connections that break are mended. Every code that opens nothing is `notFound`.",
        [Self.code.field, RoomParameters.pin.field, Self.link.field, Self.roomID.field],
        type: "room", RoomParameters.result, errors: RoomParameters.errors,
        samples: (#"{"code":"402917"}"#, RoomParameters.sample),
        .server { opened, parameters, json in
            let key: RoomKey
            switch (try parameters[Self.code], try parameters[Self.link], try parameters[Self.roomID]) {
            case (let text?, nil, nil):
                guard let code = JoinCode(text) else {
                    throw CoreError(.invalidField, "must have 6, 8 or 10 digits", field: "code")
                }
                key = .code(code, pin: try parameters[RoomParameters.pin])
            case (nil, let text?, nil):
                guard let link = RoomLink(text) else {
                    throw CoreError(.invalidField, "is no link of a room", field: "link")
                }
                guard link.origin == opened.origin else {
                    throw CoreError(.invalidField, "is of another server", field: "link")
                }
                key = .link(link.room, RoomSecret(link.secret))
            case (nil, nil, let id?): key = .seat(id)
            default: throw CoreError(.invalidField, "Give one of code, link and roomId.", field: "code")
            }
            try await opened.writeRoom(try await opened.join(by: key), &json)
        })
}
