/// "Somebody has to decide." Answers `live_knock`, and `live_join` of whoever has an old key (contract §14.7, §14.10).
package struct LiveWaiting: ServerFrame {
    package let conversation: ConversationID
    package let state: LiveStreamState
    package let expiresAt: Timestamp

    private static let expiresAt = TypedField.timestamp("expiresAt", about: "When the knock is forgotten.")

    package static let definition = ServerFrameDefinition(
        "live_waiting", about: "The listener waits until a device of the profile decides.",
        answers: [LiveKnock.definition.type, LiveJoin.definition.type],
        fields: [LiveFields.conversation.field, LiveFields.state.field, Self.expiresAt.field],
        samples: ["{" + LiveFields.sampleConversation + #","state":"live","expiresAt":1730000600000}"#])

    package init(conversation: ConversationID, state: LiveStreamState, expiresAt: Timestamp) {
        self.conversation = conversation
        self.state = state
        self.expiresAt = expiresAt
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.state = try payload[LiveFields.state]
        self.expiresAt = try payload[Self.expiresAt]
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.state, self.state)
        json.add(Self.expiresAt, self.expiresAt)
        return json.finished()
    }
}
