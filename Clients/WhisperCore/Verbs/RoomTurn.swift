import Contract
import WhisperClient

extension Verb {
    static let roomTurn = Verb(
        "room_turn", of: "rooms", about: "Asks for other credentials of the relays. The credentials in `turn` expire.",
        [RoomParameters.room.field], type: "turn", [Field("turn", .object(Shapes.turn))],
        errors: RoomParameters.errors,
        samples: (
            RoomParameters.sampleRoom,
            #"{"type":"turn","turn":{"urls":["turn:turn.example:3478?transport=udp"],"username":"1767268800:d41d8cd98f00b204","credential":"AAECAwQFBgcICQoLDA0ODxAREhM=","ttl":43200}}"#
        ),
        .server { opened, parameters, json in
            let id = try parameters[RoomParameters.room]
            let turn = try await opened.with { try await $0.rooms.renewTurn(of: id, $0) }
            json.add("turn", object: turn) { Shapes.write($0, &$1) }
        })
}
