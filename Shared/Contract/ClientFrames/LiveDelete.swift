/// "The conversation shall be no more." Answered by `live_deleted` (contract §14.6).
package struct LiveDelete: ClientFrame {
    package let conversation: ConversationID

    package static let definition = FrameDefinition(
        "live_delete",
        about: "Deletes a conversation with all that belongs to it: its stream ends, its listeners are told.",
        route: .share(of: "conversationId"), rate: Rates.liveControl,
        fields: CommonFields.privileged + [LiveFields.conversation.field],
        refusals: [LiveFields.notFound],
        samples: [CommonFields.sample(LiveFields.sampleConversation)])

    package init(_ conversation: ConversationID) { self.conversation = conversation }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
    }

    package func write(to json: inout JSONWriter) { json.add(LiveFields.conversation, self.conversation) }
}
