/// "I have stored your message", or "I have read it". No answer; the message leaves the mailbox (contract §5, spec §4.3).
package struct DeliveryReceipt: ClientFrame {
    package let messageID: UUIDText
    /// The recipient of the message, who sends this.
    package let from: WhisperID
    /// The sender of the message.
    package let to: WhisperID
    package let status: ReceiptStatus
    package let timestamp: Timestamp

    private static let messageID = TypedField.uuid("messageId")
    private static let from = TypedField.whisperID(
        "from", about: "The recipient of the message, who sends this.")
    private static let to = TypedField.whisperID("to", about: "The sender of the message.")
    private static let status = TypedField.word("status", of: ["delivered", "read"])
    private static let timestamp = TypedField.timestamp("timestamp")

    package static let definition: FrameDefinition = FrameDefinition(
        "delivery_receipt",
        about: """
            Says that a message is stored, or read. Takes it out of the mailbox, so it never comes again. `read` implies \
            `delivered`; the same status again, a lower one, or one about a message that was not for the caller is ignored.
            """,
        route: .mailbox(of: "from"), rate: Rates.receipts,
        fields: CommonFields.privileged + [
            Self.messageID.field, Self.from.field, Self.to.field, Self.status.field, Self.timestamp.field,
        ],
        samples: [
            #"{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA","messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","from":"WSP-AAAA-AAAA-AAAA","to":"WSP-JBPU-D452-TLT4","status":"delivered","timestamp":1730000000000}"#
        ])

    private enum Index {
        static let messageID = DeliveryReceipt.definition.place(DeliveryReceipt.messageID)
        static let from = DeliveryReceipt.definition.place(DeliveryReceipt.from)
        static let to = DeliveryReceipt.definition.place(DeliveryReceipt.to)
        static let status = DeliveryReceipt.definition.place(DeliveryReceipt.status)
        static let timestamp = DeliveryReceipt.definition.place(DeliveryReceipt.timestamp)
    }

    package init(messageID: UUIDText, from: WhisperID, to: WhisperID, status: ReceiptStatus, timestamp: Timestamp) {
        (self.messageID, self.from, self.to, self.status) = (messageID, from, to, status)
        self.timestamp = timestamp
    }

    package init(_ payload: Payload) {
        self.messageID = payload.uuid(Index.messageID)
        self.from = payload.whisperID(Index.from)
        self.to = payload.whisperID(Index.to)
        self.status = payload.withText(Index.status) { $0.first == UInt8(ascii: "r") ? .read : .delivered }
        self.timestamp = payload.timestamp(Index.timestamp)
    }

    package func write(to json: inout JSONWriter) {
        json.add(Self.messageID, self.messageID)
        json.add(Self.from, self.from)
        json.add(Self.to, self.to)
        json.add(Self.status, self.status == .read ? "read" : "delivered")
        json.add(Self.timestamp, self.timestamp)
    }
}

/// How far a message has come, as its recipient says. Higher replaces lower, never the other way.
package enum ReceiptStatus: UInt8, Comparable, Sendable {
    case delivered = 1
    case read = 2

    package static func < (a: ReceiptStatus, b: ReceiptStatus) -> Bool { a.rawValue < b.rawValue }
}
