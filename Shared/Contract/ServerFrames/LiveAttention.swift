/// A listener wants something of the holder (contract §14.8). May be lost.
package struct LiveAttention: ServerFrame {
    package enum Want: String, CaseIterable, Sendable {
        case hand
        case `repeat`
        case slower
    }

    package let conversation: ConversationID
    package let listener: PrincipalID
    package let want: Want
    package let timestamp: Timestamp

    private static let conversationID = TypedField.conversationID("conversationId")
    private static let listener = TypedField.principalID("listener")
    private static let want = TypedField<Want>.choice("want")
    private static let timestamp = TypedField.timestamp("timestamp", about: "The server's clock.")

    package static let definition = ServerFrameDefinition(
        "live_attention",
        about: "A listener has raised its hand, asks to hear it again, or to go slower. For the whisperer.",
        fields: [Self.conversationID.field, Self.listener.field, Self.want.field, Self.timestamp.field],
        samples: [
            #"{"conversationId":"3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61","listener":"gst-000102030405060708090a0b0c0d0e0f","want":"hand","timestamp":1730000000000}"#
        ])

    package init(conversation: ConversationID, listener: PrincipalID, want: Want, timestamp: Timestamp) {
        self.conversation = conversation
        self.listener = listener
        self.want = want
        self.timestamp = timestamp
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[Self.conversationID]
        self.listener = try payload[Self.listener]
        self.want = try payload[Self.want]
        self.timestamp = try payload[Self.timestamp]
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(Self.conversationID, self.conversation)
        json.add(Self.listener, self.listener)
        json.add(Self.want, self.want)
        json.add(Self.timestamp, self.timestamp)
        return json.finished()
    }
}
