/// "You may not listen." Answered by `live_listener` (contract §14.7).
package struct LiveRefuse: ClientFrame {
    package enum Reason: String, CaseIterable, Sendable {
        case declined, passcode, removed
        /// May not knock again. The listener is told `removed`.
        case blocked
    }

    package let conversation: ConversationID
    package let to: PrincipalID
    package let reason: Reason
    package let refusal: LiveSigned

    private static let reason = TypedField<Reason>.choice("reason")

    package static let definition = FrameDefinition(
        "live_refuse",
        about: """
            Sends somebody away who waits or listens. What the listener would have heard is dropped. Whoever is refused may knock \
            again, unless the reason is `blocked`.
            """,
        route: .share(of: "conversationId"), rate: Rates.liveRefusals,
        fields: CommonFields.privileged + [LiveFields.conversation.field, LiveFields.to.field, Self.reason.field]
            + LiveSigned.fields(ciphertext: LiveLimits.refusalCiphertext),
        refusals: [
            (.notFound, "There is no such conversation or listener for this caller."),
            LiveFields.untimely,
        ],
        samples: [
            CommonFields.sample(
                LiveFields.sampleConversation + #","to":"\#(LiveFields.sampleGuest)","reason":"removed","#
                    + LiveFields.sampleSigned())
        ])

    package init(_ conversation: ConversationID, to listener: PrincipalID, reason: Reason, refusal: LiveSigned) {
        (self.conversation, self.to, self.reason, self.refusal) = (conversation, listener, reason, refusal)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.to = try payload[LiveFields.to]
        self.reason = try payload[Self.reason]
        self.refusal = try LiveSigned(payload, ciphertext: LiveLimits.refusalCiphertext)
    }

    package func write(to json: inout JSONWriter) {
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.to, self.to)
        json.add(Self.reason, self.reason)
        self.refusal.write(to: &json, ciphertext: LiveLimits.refusalCiphertext)
    }
}
