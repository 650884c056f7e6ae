/// "You hold the stream." Answers `live_start` (contract §14.8).
package struct LiveStarted: ServerFrame {
    package let conversation: ConversationID
    package let content: UUIDText
    package let epoch: Int64
    package let generation: Int
    package let isResumed: Bool
    package let line: Int
    package let listeners: [LiveListener]

    private static let isResumed = TypedField.bool("isResumed", about: "The stream had begun before.")
    private static let line = TypedField.integer(
        "line", Int64(LiveLimits.lines.lowerBound)...Int64(LiveLimits.lines.upperBound),
        about: "The greatest line that is stored. 0: none.")

    package static let definition = ServerFrameDefinition(
        "live_started",
        about: "This connection may send packets of `epoch`. Their numbers begin at 1, and the first is a snapshot.",
        answers: [LiveStart.definition.type],
        fields: [
            LiveFields.conversation.field, LiveFields.content.field, LiveFields.epoch.field,
            LiveFields.generation.field, Self.isResumed.field, Self.line.field, LiveListener.listField.field,
        ],
        samples: [
            "{" + LiveFields.sampleConversation + "," + LiveFields.sampleContent
                + #","epoch":7,"generation":2,"isResumed":false,"line":0,"listeners":["# + LiveListener.sample + "]}"
        ])

    package init(
        conversation: ConversationID, content: UUIDText, epoch: Int64, generation: Int, isResumed: Bool, line: Int,
        listeners: [LiveListener]
    ) {
        self.conversation = conversation
        self.content = content
        self.epoch = epoch
        self.generation = generation
        self.isResumed = isResumed
        self.line = line
        self.listeners = listeners
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.content = try payload[LiveFields.content]
        self.epoch = try payload[LiveFields.epoch]
        self.generation = Int(try payload[LiveFields.generation])
        self.isResumed = try payload[Self.isResumed]
        self.line = Int(try payload[Self.line])
        self.listeners = try payload[LiveListener.listField]
    }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 256 + 384 * self.listeners.count)
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.content, self.content)
        json.add(LiveFields.epoch, self.epoch)
        json.add(LiveFields.generation, Int64(self.generation))
        json.add(Self.isResumed, self.isResumed)
        json.add(Self.line, Int64(self.line))
        json.add(LiveListener.listField, self.listeners)
        return json.finished()
    }
}
