/// "Your peer is writing." (contract §7)
package struct TypingNotification: ServerFrame {
    package let from: WhisperID
    package let isTyping: Bool
    package let timestamp: Timestamp

    private static let from = TypedField.whisperID("from")
    private static let isTyping = TypedField.bool("isTyping")
    private static let timestamp = TypedField.timestamp("timestamp")

    package static let definition = ServerFrameDefinition(
        "typing_notification", about: "A peer is writing, or has stopped.",
        fields: [Self.from.field, Self.isTyping.field, Self.timestamp.field],
        samples: [#"{"from":"WSP-JBPU-D452-TLT4","isTyping":true,"timestamp":1730000000000}"#])

    package init(from: WhisperID, isTyping: Bool, timestamp: Timestamp) {
        self.from = from
        self.isTyping = isTyping
        self.timestamp = timestamp
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.from = try payload[Self.from]
        self.isTyping = try payload[Self.isTyping]
        self.timestamp = try payload[Self.timestamp]
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(Self.from, self.from)
        json.add(Self.isTyping, self.isTyping)
        json.add(Self.timestamp, self.timestamp)
        return json.finished()
    }
}
