/// "The conversation is no more." Answers `live_delete` (contract §14.6).
package struct LiveDeleted: ServerFrame {
    package let conversation: ConversationID

    package static let definition = ServerFrameDefinition(
        "live_deleted", about: "The conversation is deleted, with all that belonged to it.",
        answers: [LiveDelete.definition.type],
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
