/// "These lines are kept." Comes by itself, to the holder (contract §14.11).
package struct LiveLineStored: ServerFrame {
    package let conversation: ConversationID
    package let content: UUIDText
    package let lines: [Int]

    private static let lines = TypedField.integers(
        "lines", LiveLimits.lineNumbers, count: 1...LiveLimits.linesToldMax,
        about: "Their numbers. A line that was sent again is told again.")

    package static let definition = ServerFrameDefinition(
        "live_line_stored",
        about: """
            These lines are in the transcript, and stay there whatever fails. Comes only while lines are kept. A client sends a line \
            again, with its number and a new `seq`, if it was not told for \(LiveLimits.lineStoredWithin.components.seconds) s.
            """,
        fields: [LiveFields.conversation.field, LiveFields.content.field, Self.lines.field],
        samples: [
            "{" + LiveFields.sampleConversation + "," + LiveFields.sampleContent + #","lines":[31,32]}"#
        ])

    package init(conversation: ConversationID, content: UUIDText, lines: [Int]) {
        self.conversation = conversation
        self.content = content
        self.lines = lines
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.content = try payload[LiveFields.content]
        self.lines = try payload[Self.lines].map { Int($0) }
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.content, self.content)
        json.add(Self.lines, self.lines.map { Int64($0) })
        return json.finished()
    }
}
