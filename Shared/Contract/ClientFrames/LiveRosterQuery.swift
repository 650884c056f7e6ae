/// "Who listens?" Answered by `live_roster` (contract §14.6).
package struct LiveRosterQuery: ClientFrame {
    package let conversation: ConversationID

    package static let definition = FrameDefinition(
        "live_roster",
        about: "Asks for the state of a conversation and for its listeners. Those who are refused are not among them.",
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
