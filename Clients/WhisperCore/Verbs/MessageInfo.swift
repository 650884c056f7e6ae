import Contract
import WhisperClient

extension Verb {
    private static let messageID = TypedField.uuid("messageId")
    private static let from = TypedField.whisperID("from", about: "The author of the message. Without: our own.")
        .optional

    static let messageInfo = Verb(
        "message_info", of: "messages",
        about: "Says how a message stands, one of ours to a group for each member, and its place in the chat.",
        [Self.messageID.field, Self.from.field],
        type: "message",
        [
            Field("message", .object(Shapes.numberedMessage)),
            Field(
                "members", .array(of: .object(Shapes.delivery), count: 0...Limits.groupMembersMax), .optional,
                about: "For our own to a group."),
        ], errors: [.noIdentity, .notFound, .store],
        samples: (
            #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"}"#,
            #"{"type":"message","message":{"number":17,"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","chat":"WSP-AAAA-AAAA-AAAA","direction":"out","time":1767225600000,"kind":"text","text":"It is.","state":"failed","reason":"noSuchPerson"}}"#
        ),
        .read { opened, parameters, json in
            let id = try parameters[Self.messageID]
            let (messages, from) = (opened.store.messages, try parameters[Self.from])
            let message = if let from { try messages.incoming(id, from: from) } else { try messages.outgoing(id) }
            guard let message, let number = try messages.number(of: id, from: from) else {
                throw CoreError(.notFound, field: "messageId")
            }
            json.add("message", object: (number: number, message: message)) { Shapes.write($0, &$1) }
            guard message.state != nil, !message.isDirect else { return }
            json.add("members", objects: try opened.store.deliveries.deliveries(of: id)) { Shapes.write($0, &$1) }
        })
}
