/// "I listen now." Answered by `live_joined` or `live_waiting` (contract §14.10).
package struct LiveJoin: ClientFrame {
    package let conversation: ConversationID
    package let after: LivePoint?

    private static let after = TypedField<LivePoint>.object("after", about: "What the client has.").optional

    package static let definition = FrameDefinition(
        "live_join",
        about: """
            Begins to listen, for whoever is admitted and for devices of the conversation's own profile. Packets follow the answer: \
            the text of now, or with `after` what has been missed.
            """,
        route: .share(of: "conversationId"), principal: .either, rate: Rates.liveJoins,
        fields: LiveFields.either + [LiveFields.conversation.field, Self.after.field],
        refusals: [
            (
                .forbidden,
                "The caller is not admitted, or the connection has joined \(LiveLimits.joinedPerConnectionMax) conversations."
            ),
            LiveFields.notFound,
        ],
        samples: [
            LiveFields.guestSample(LiveFields.sampleConversation),
            CommonFields.sample(
                LiveFields.sampleConversation
                    + #","after":{\#(LiveFields.sampleContent),"epoch":7,"seq":412,"line":31}"#),
        ])

    package init(_ conversation: ConversationID, after: LivePoint?) {
        (self.conversation, self.after) = (conversation, after)
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.after = try payload[Self.after]
    }

    package func write(to json: inout JSONWriter) {
        json.add(LiveFields.conversation, self.conversation)
        json.add(Self.after, self.after)
    }
}

extension LivePoint: ObjectValue {
    private static let epoch = TypedField.integer("epoch", 0...LiveLimits.sequence.upperBound)
    private static let seq = TypedField.integer("seq", 0...LiveLimits.sequence.upperBound)
    private static let line = TypedField.integer(
        "line", Int64(LiveLimits.lines.lowerBound)...Int64(LiveLimits.lines.upperBound))

    static let schema = ObjectSchema([LiveFields.content.field, Self.epoch.field, Self.seq.field, Self.line.field])

    init(_ payload: Payload) throws(Payload.Corrupted) {
        self.init(
            content: try payload[LiveFields.content],
            position: LivePosition(epoch: try payload[Self.epoch], seq: try payload[Self.seq]),
            line: Int(try payload[Self.line]))
    }

    var json: [UInt8] {
        var json = JSONWriter()
        json.add(LiveFields.content, self.content)
        json.add(Self.epoch, self.position.epoch)
        json.add(Self.seq, self.position.seq)
        json.add(Self.line, Int64(self.line))
        return json.finished()
    }
}
