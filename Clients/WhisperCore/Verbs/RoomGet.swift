import Contract
import WhisperClient

extension Verb {
    static let roomGet = Verb(
        "room_get", of: "rooms", about: "Shows a room that was entered, and who is there.", [RoomParameters.room.field],
        type: "room", RoomParameters.result, errors: [.noIdentity, .notFound],
        samples: (RoomParameters.sampleRoom, RoomParameters.sample),
        .client { opened, parameters, json in try await opened.writeRoom(try parameters[RoomParameters.room], &json) })
}
