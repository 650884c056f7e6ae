/// "This waits for you." Answers a `fetch_pending`, a page at a time (contract §5).
package struct PendingMessages: ServerFrame {
    package let messages: [MessageReceived]
    /// The cursor of the next `fetch_pending`; `nil` at the end.
    package let nextCursor: String?

    private static let messages = TypedField<[MessageReceived]>.objects(
        "messages", count: 0...Limits.fetchPendingMax, about: "Payloads of `message_received`.")
    private static let nextCursor = TypedField.text(
        "nextCursor", Limits.cursorCharacters, about: "Only when there is more."
    ).optional

    package static let definition = ServerFrameDefinition(
        "pending_messages",
        about: """
            A page of the mailbox, oldest first. It also ends before the whole frame would pass \(Limits.pageBytesMax) bytes.
            """,
        answers: ["fetch_pending"],
        fields: [Self.messages.field, Self.nextCursor.field],
        samples: [
            #"{"messages":[\#(MessageReceived.sample)],"nextCursor":"p1-2a"}"#, #"{"messages":[]}"#,
        ])

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.messages = try payload[Self.messages]
        self.nextCursor = try payload[Self.nextCursor]
    }

    package var json: [UInt8] {
        Self.json(messages: self.messages.map(\.json), nextCursor: self.nextCursor)
    }

    /// The payload around messages that are written already.
    package static func json(messages: [[UInt8]], nextCursor: String?) -> [UInt8] {
        var json = JSONWriter(capacity: messages.reduce(64) { $0 + $1.count + 1 })
        json.add(Self.messages, written: messages)
        json.add(Self.nextCursor, nextCursor)
        return json.finished()
    }
}

extension MessageReceived: ObjectValue {}
