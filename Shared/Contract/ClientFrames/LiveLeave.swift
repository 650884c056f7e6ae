/// "I listen no more." Answered by `live_left` (contract §14.10).
package struct LiveLeave: ClientFrame {
    package let conversation: ConversationID
    /// The listener's row and grant go too, unless it is blocked.
    package let forget: Bool

    private static let forget = TypedField.bool("forget", about: "The server forgets the listener and its grant.")
        .optional

    package static let definition = FrameDefinition(
        "live_leave",
        about: "Ends listening or waiting. The second time, and for any id, the answer is the same.",
        route: .share(of: "conversationId"), principal: .either, rate: Rates.liveJoins,
        fields: LiveFields.either + [LiveFields.conversation.field, Self.forget.field],
        samples: [
            LiveFields.guestSample(LiveFields.sampleConversation),
            CommonFields.sample(LiveFields.sampleConversation + #","forget":true"#),
        ])

    package init(_ conversation: ConversationID, forget: Bool = false) {
        (self.conversation, self.forget) = (conversation, forget)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.forget = try payload[Self.forget] ?? false
    }

    package func write(to json: inout JSONWriter) {
        json.add(LiveFields.conversation, self.conversation)
        if self.forget { json.add(Self.forget, true) }
    }
}
