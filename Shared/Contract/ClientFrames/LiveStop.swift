/// "I have finished." Answered by `live_stopped` (contract §14.8).
package struct LiveStop: ClientFrame {
    package let conversation: ConversationID
    package let content: UUIDText

    package static let definition = FrameDefinition(
        "live_stop",
        about: """
            Ends a stream. Any device of the profile may. Another `contentId` than the present one is answered, and does nothing.
            """,
        route: .share(of: "conversationId"), rate: Rates.liveControl,
        fields: CommonFields.privileged + [LiveFields.conversation.field, LiveFields.content.field],
        refusals: [LiveFields.notFound],
        samples: [CommonFields.sample(LiveFields.sampleConversation + "," + LiveFields.sampleContent)])

    package init(_ conversation: ConversationID, content: UUIDText) {
        (self.conversation, self.content) = (conversation, content)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.content = try payload[LiveFields.content]
    }

    package func write(to json: inout JSONWriter) {
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.content, self.content)
    }
}
