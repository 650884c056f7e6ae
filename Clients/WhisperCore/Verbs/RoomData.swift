import Contract
import WhisperClient

extension Verb {
    private static let to = TypedField.principalID("to", about: "The participant at the other end.")
    private static let link = TypedField.integer(
        "link", 1...Int64.max, about: "The number of the connection, as the event `roomSignal` had it.")
    private static let channel = TypedField<TalkMachine.Channel>.choice(
        "channel", about: "Where it came from. Default: `talk`."
    ).optional
    private static let text = TypedField.text(
        "text", 0...TalkLimits.messageBytesMax, about: "A message that was a text."
    ).optional
    private static let base64 = TypedField.base64(
        "base64", 0...TalkLimits.messageBytesMax, about: "A message that was binary."
    ).optional

    static let roomData = Verb(
        "room_data", of: "rooms",
        about:
            "One message that the host's WebRTC stack has received on a channel, in order. Give one that is too long as an empty `base64`. Messages of an earlier connection are ignored.",
        [
            RoomParameters.room.field, Self.to.field, Self.link.field, Self.channel.field, Self.text.field,
            Self.base64.field,
        ], type: "received", errors: [.noIdentity, .notFound],
        samples: (
            #"{\#(Shapes.sampleRoomID),"to":"WSP-AAAA-AAAA-AAAA","link":1,"text":"{}"}"#,
            #"{"type":"received"}"#
        ),
        .client { opened, parameters, _ in
            let (text, isBinary) = (try parameters[Self.text], try parameters[Self.base64] != nil)
            guard (text != nil) != isBinary else {
                throw CoreError(.invalidField, "Give one of text and base64.", field: "text")
            }
            let (id, client) = (try parameters[RoomParameters.room], opened.client)
            guard await client.with({ $0.rooms[id] }) != nil else { throw CoreError(.notFound, field: "roomId") }
            guard let number = Int(exactly: try parameters[Self.link]) else { return }
            let (peer, channel) = (try parameters[Self.to], try parameters[Self.channel] ?? .talk)
            await client.with { $0.rooms.received(text, on: channel, from: peer, number: number, in: id, $0) }
        })
}
