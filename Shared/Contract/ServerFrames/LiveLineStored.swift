/// "These lines are kept." Comes by itself, to the holder (contract §14.11).
package struct LiveLineStored: ServerFrame {
    package let conversation: ConversationID
    package let content: UUIDText
    package let lines: [Int]
    package let notKept: [Int]

    /// No line that is told is to be sent again.
    package var told: [Int] { self.lines + self.notKept }

    private static let lines = TypedField.integers(
        "lines", LiveLimits.lineNumbers, count: 0...LiveLimits.linesToldMax,
        about: "Their numbers. A line that was sent again is told again.")
    private static let notKept = TypedField.integers(
        "notKept", LiveLimits.lineNumbers, count: 1...LiveLimits.linesToldMax,
        about: """
            Numbers of lines for which the identity or its profile has no room. Listeners got them; the transcript lacks them. A client \
            does not send them again.
            """
    ).optional

    package static let definition = ServerFrameDefinition(
        "live_line_stored",
        about: """
            These lines are in the transcript, and stay there whatever fails. Comes only while lines are kept. A client sends a line \
            again, with its number and a new `seq`, if it was not told for \(LiveLimits.lineStoredWithin.components.seconds) s.
            """,
        fields: [LiveFields.conversation.field, LiveFields.content.field, Self.lines.field, Self.notKept.field],
        samples: [
            "{" + LiveFields.sampleConversation + "," + LiveFields.sampleContent + #","lines":[31,32]}"#,
            "{" + LiveFields.sampleConversation + "," + LiveFields.sampleContent + #","lines":[],"notKept":[33]}"#,
        ])

    package init(conversation: ConversationID, content: UUIDText, lines: [Int], notKept: [Int] = []) {
        self.conversation = conversation
        self.content = content
        self.lines = lines
        self.notKept = notKept
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.content = try payload[LiveFields.content]
        self.lines = try payload[Self.lines].map { Int($0) }
        self.notKept = try payload[Self.notKept]?.map { Int($0) } ?? []
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(LiveFields.conversation, self.conversation)
        json.add(LiveFields.content, self.content)
        json.add(Self.lines, self.lines.map { Int64($0) })
        json.add(Self.notKept, self.notKept.isEmpty ? nil : self.notKept.map { Int64($0) })
        return json.finished()
    }
}
