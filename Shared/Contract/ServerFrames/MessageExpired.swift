/// "Nobody has fetched your message." (contract §5)
package struct MessageExpired: ServerFrame {
    package let messageID: UUIDText
    /// The recipient of the message.
    package let to: WhisperID

    private static let messageID = TypedField.uuid("messageId")
    private static let to = TypedField.whisperID("to")

    package static let definition = ServerFrameDefinition(
        "message_expired", about: "The message was not fetched within 72 h and is gone.",
        fields: [Self.messageID.field, Self.to.field],
        samples: [#"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","to":"WSP-AAAA-AAAA-AAAA"}"#])

    package init(messageID: UUIDText, to: WhisperID) {
        self.messageID = messageID
        self.to = to
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.messageID = try payload[Self.messageID]
        self.to = try payload[Self.to]
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(Self.messageID, self.messageID)
        json.add(Self.to, self.to)
        return json.finished()
    }
}
