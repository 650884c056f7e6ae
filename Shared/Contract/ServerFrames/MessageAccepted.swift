/// "Your message is stored." Answers a `send_message` or `group_send_message` (contract §5, §6).
package struct MessageAccepted: ServerFrame {
    package let messageID: UUIDText
    /// The recipient; group mail only.
    package let to: WhisperID?

    private static let messageID = TypedField.uuid("messageId")
    private static let status = TypedField.word("status", of: ["sent"])
    private static let to = TypedField.whisperID("to", about: "Group mail only.").optional

    package static let definition = ServerFrameDefinition(
        "message_accepted", about: "The message is stored durably, now or when it was first sent.",
        answers: ["send_message", "group_send_message"],
        fields: [Self.messageID.field, Self.status.field, Self.to.field],
        samples: [
            #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","status":"sent"}"#,
            #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a12","status":"sent","to":"WSP-AAAA-AAAA-AAAA"}"#,
        ])

    package init(messageID: UUIDText, to: WhisperID?) {
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
        json.add(Self.status, "sent")
        json.add(Self.to, self.to)
        return json.finished()
    }
}
