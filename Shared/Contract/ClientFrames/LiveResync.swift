/// "I miss packets behind this one." Answered by packets (contract §14.10).
package struct LiveResync: ClientFrame {
    package let conversation: ConversationID
    /// The last packet that the listener has.
    package let position: LivePosition
    /// Lines that it has.
    package let line: Int

    private static let conversationID = TypedField.conversationID("conversationId")
    private static let epoch = TypedField.integer(
        "epoch", 0...LiveLimits.sequence.upperBound, about: "0 before the first packet.")
    private static let seq = TypedField.integer(
        "seq", 0...LiveLimits.sequence.upperBound, about: "Of the last packet that is part of the text; 0 for none.")
    private static let line = TypedField.integer(
        "line", Int64(LiveLimits.lines.lowerBound)...Int64(LiveLimits.lines.upperBound),
        about: "Lines behind this one are wanted.")

    package static let definition: FrameDefinition = FrameDefinition(
        "live_resync",
        about: """
            Asks for what the listener misses: lines behind `line`, the newest snapshot and the packets behind it. What the server does not \
            remember it asks of the whisperer. A second one within 1 s is dropped without a word.
            """,
        route: .gateway, principal: .either, rate: Rates.liveResync,
        fields: CommonFields.privileged
            + [
                CommonFields.guestToken, Self.conversationID.field, Self.epoch.field, Self.seq.field, Self.line.field,
            ],
        refusals: [(.forbidden, "This connection has not joined the conversation.")],
        samples: [
            CommonFields.sample(
                #""conversationId":"3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61","epoch":7,"seq":411,"line":31"#)
        ])

    package init(_ conversation: ConversationID, behind position: LivePosition, line: Int) {
        (self.conversation, self.position, self.line) = (conversation, position, line)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[Self.conversationID]
        self.position = LivePosition(epoch: try payload[Self.epoch], seq: try payload[Self.seq])
        self.line = Int(try payload[Self.line])
    }

    package func write(to json: inout JSONWriter) {
        json.add(Self.conversationID, self.conversation)
        json.add(Self.epoch, self.position.epoch)
        json.add(Self.seq, self.position.seq)
        json.add(Self.line, Int64(self.line))
    }
}
