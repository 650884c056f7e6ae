/// "I whisper now." Answered by `live_started` (contract §14.8).
package struct LiveStart: ClientFrame {
    package let conversation: ConversationID
    package let content: UUIDText

    package static let definition = FrameDefinition(
        "live_start",
        about: """
            Takes the stream of a conversation: the later device holds it. The `contentId` of a stream that has not ended resumes it. Another one ends it and begins a new stream.
            """,
        route: .share(of: "conversationId"), rate: Rates.liveControl,
        fields: CommonFields.privileged + [LiveFields.conversation.field, LiveFields.content.field],
        refusals: [
            (
                .forbidden,
                """
                The `contentId` has ended, or the connection holds \(LiveLimits.streamsPerConnectionMax) streams, or too many have \
                not ended: \(LiveLimits.streamsOfIdentityMax) of the caller, or \(LiveLimits.streamsOfProfileMax) of the profile.
                """
            ), LiveFields.notFound,
        ],
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
