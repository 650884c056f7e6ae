import Contract
import WhisperClient

extension Verb {
    private static let messageID = TypedField.uuid("messageId")
    private static let from = TypedField.whisperID("from", about: "The author of the message.")

    static let messageRead = Verb(
        "message_read", of: "messages",
        about: "Marks one message as read, here and for its sender.",
        [Self.messageID.field, Self.from.field], type: "read", [Field("count", .integer(0...1))],
        errors: [.noIdentity, .notFound, .store],
        samples: (
            #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","from":"WSP-AAAA-AAAA-AAAA"}"#,
            #"{"type":"read","count":1}"#
        ),
        .client { opened, parameters, json in
            guard
                let message = try opened.store.messages.incoming(
                    try parameters[Self.messageID], from: try parameters[Self.from])
            else { throw CoreError(.notFound, field: "messageId") }
            let isNew = message.direction == .incoming(isRead: false)
            if isNew { try await opened.with { try $0.receipts.markRead([message], $0) } }
            json.add("count", isNew ? 1 : 0)
        })
}
