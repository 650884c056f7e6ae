/// A listener wants something of the whisperer. May be lost, no answer (contract §14.8).
package struct SendLiveAttention: ClientFrame {
    package let conversation: ConversationID
    package let want: LiveAttention.Want

    private static let conversationID = TypedField.conversationID("conversationId")
    private static let want = TypedField<LiveAttention.Want>.choice(
        "want", about: "To say something, to hear it again, to go slower.")

    package static let definition: FrameDefinition = FrameDefinition(
        "live_attention",
        about: "Raises a hand: the whisperer gets `live_attention`. It may be lost.",
        route: .gateway, principal: .either, rate: Rates.liveAttention,
        fields: CommonFields.privileged + [CommonFields.guestToken, Self.conversationID.field, Self.want.field],
        refusals: [(.forbidden, "This connection has not joined the conversation.")],
        samples: [
            CommonFields.sample(#""conversationId":"3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61","want":"repeat""#)
        ])

    package init(_ conversation: ConversationID, _ want: LiveAttention.Want) {
        (self.conversation, self.want) = (conversation, want)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[Self.conversationID]
        self.want = try payload[Self.want]
    }

    package func write(to json: inout JSONWriter) {
        json.add(Self.conversationID, self.conversation)
        json.add(Self.want, self.want)
    }
}
