/// "You listen no more." Answers `live_leave` (contract §14.10).
package struct LiveLeft: ServerFrame {
    package let conversation: ConversationID

    package static let definition = ServerFrameDefinition(
        "live_left", about: "The caller neither listens nor waits.", answers: [LiveLeave.definition.type],
        fields: [LiveFields.conversation.field], samples: ["{" + LiveFields.sampleConversation + "}"])

    package init(_ conversation: ConversationID) { self.conversation = conversation }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(LiveFields.conversation, self.conversation)
        return json.finished()
    }
}
