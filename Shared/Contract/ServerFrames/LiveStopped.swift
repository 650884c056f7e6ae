/// "You do not hold the stream any more." Answers `live_stop`, or comes by itself (contract §14.8, §19.18).
package struct LiveStopped: ServerFrame {
    package enum Reason: String, CaseIterable, Sendable {
        case stopped
        /// Another device holds it now.
        case takenOver = "taken_over"
        /// The device is not in the profile any more, or its session has ended.
        case removed
    }

    package let conversation: ConversationID
    package let content: UUIDText
    package let reason: Reason

    private static let reason = TypedField<Reason>.choice("reason")

    package static let definition = ServerFrameDefinition(
        "live_stopped",
        about: "The stream has ended, or this connection may send no more packets of it.",
        answers: [LiveStop.definition.type],
        fields: [LiveFields.conversation.field, LiveFields.content.field, Self.reason.field],
        samples: [
            "{" + LiveFields.sampleConversation + "," + LiveFields.sampleContent + #","reason":"taken_over"}"#
        ])

    package init(conversation: ConversationID, content: UUIDText, reason: Reason) {
        self.conversation = conversation
        self.content = content
        self.reason = reason
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.content = try payload[LiveFields.content]
        self.reason = try payload[Self.reason]
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.content, self.content)
        json.add(Self.reason, self.reason)
        return json.finished()
    }
}
