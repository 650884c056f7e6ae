/// What happens to messages (contract §5).
package enum MessageFrames {
    package static let accepted = ServerFrameDefinition(
        "message_accepted", about: "The message is stored durably, now or when it was first sent.",
        answers: ["send_message", "group_send_message"],
        fields: [
            Field("messageId", .uuid), Field("status", .choice(["sent"])),
            Field("to", .whisperID, .optional, about: "Group mail only."),
        ],
        samples: [
            #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","status":"sent"}"#,
            #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a12","status":"sent","to":"WSP-AAAA-AAAA-AAAA"}"#,
        ])

    package static let pending = ServerFrameDefinition(
        "pending_messages",
        about: """
            A page of the mailbox, oldest first. It also ends before the whole frame would pass \(Limits.pageBytesMax) bytes.
            """,
        answers: ["fetch_pending"],
        fields: [
            Field(
                "messages", .array(of: .object(MessageReceived.schema), count: 0...Limits.fetchPendingMax),
                about: "Payloads of `message_received`."),
            Field(
                "nextCursor", .text(Limits.cursorCharacters), .optional,
                about: "Only when there is more."),
        ],
        samples: [
            #"{"messages":[\#(MessageReceived.sample)],"nextCursor":"p1-2a"}"#, #"{"messages":[]}"#,
        ])

    package static let delivered = ServerFrameDefinition(
        "message_delivered",
        about: "The recipient has stored or read the message. Kept 72 h for a sender who is away, and sent when it binds.",
        fields: [
            Field("messageId", .uuid), Field("status", .choice(["delivered", "read"])),
            Field("timestamp", .timestamp, about: "As the receipt says."),
            Field("from", .whisperID, .optional, about: "The recipient of the message, who sent the receipt."),
            Field("groupId", .groupID, .optional, about: "Group mail only."),
        ],
        samples: [
            #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","status":"delivered","timestamp":1730000000900,"from":"WSP-AAAA-AAAA-AAAA"}"#
        ])

    package static let expired = ServerFrameDefinition(
        "message_expired", about: "The message was not fetched within 72 h and is gone.",
        fields: [Field("messageId", .uuid), Field("to", .whisperID)],
        samples: [#"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","to":"WSP-AAAA-AAAA-AAAA"}"#])
}
