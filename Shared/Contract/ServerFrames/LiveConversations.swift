/// "Your profile has these conversations." Answers `live_list` (contract §14.6).
package struct LiveConversations: ServerFrame {
    package let conversations: [LiveConversation]

    private static let conversations = TypedField<[LiveConversation]>.objects(
        "conversations", count: 0...LiveLimits.conversationsPerProfileMax)

    package static let definition = ServerFrameDefinition(
        "live_conversations", about: "All conversations of the profile.", answers: [LiveList.definition.type],
        fields: [Self.conversations.field],
        samples: [#"{"conversations":["# + LiveConversation.sample + "]}", #"{"conversations":[]}"#])

    package init(_ conversations: [LiveConversation]) { self.conversations = conversations }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversations = try payload[Self.conversations]
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 64 + 384 * self.conversations.count)
        json.add(Self.conversations, self.conversations)
        return json.finished()
    }
}
