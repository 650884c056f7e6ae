/// "Your message has come." (contract §5)
package struct MessageDelivered: ServerFrame {
    package let messageID: UUIDText
    package let status: ReceiptStatus
    /// As the receipt says.
    package let timestamp: Timestamp
    /// The recipient of the message, who sent the receipt.
    package let from: WhisperID?
    /// Group mail only.
    package let groupID: UUIDText?

    private static let messageID = TypedField.uuid("messageId")
    private static let status = TypedField.word("status", of: ["delivered", "read"])
    private static let timestamp = TypedField.timestamp("timestamp", about: "As the receipt says.")
    private static let from = TypedField.whisperID(
        "from", about: "The recipient of the message, who sent the receipt."
    ).optional
    private static let groupID = TypedField.groupID("groupId", about: "Group mail only.").optional

    package static let definition = ServerFrameDefinition(
        "message_delivered",
        about:
            "The recipient has stored or read the message. Kept 72 h for a sender who is away, and sent when it binds.",
        fields: [
            Self.messageID.field, Self.status.field, Self.timestamp.field, Self.from.field, Self.groupID.field,
        ],
        samples: [
            #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","status":"delivered","timestamp":1730000000900,"from":"WSP-AAAA-AAAA-AAAA"}"#
        ])

    package init(
        messageID: UUIDText, status: ReceiptStatus, timestamp: Timestamp, from: WhisperID?, groupID: UUIDText?
    ) {
        self.messageID = messageID
        self.status = status
        self.timestamp = timestamp
        self.from = from
        self.groupID = groupID
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.messageID = try payload[Self.messageID]
        self.status = try payload[Self.status] == "read" ? .read : .delivered
        self.timestamp = try payload[Self.timestamp]
        self.from = try payload[Self.from]
        self.groupID = try payload[Self.groupID]
    }

    package var json: [UInt8] {
        var json = JSONWriter()
        json.add(Self.messageID, self.messageID)
        json.add(Self.status, self.status == .read ? "read" : "delivered")
        json.add(Self.timestamp, self.timestamp)
        json.add(Self.from, self.from)
        json.add(Self.groupID, self.groupID)
        return json.finished()
    }
}
