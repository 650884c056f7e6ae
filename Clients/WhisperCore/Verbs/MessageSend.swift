import Contract
import WhisperClient

extension Verb {
    private static let to = ChatField("to", about: "A contact or a group.")
    private static let text = TypedField.text(
        "text", 1...ClientLimits.textBytesMax, about: "At most \(ClientLimits.textBytesMax) bytes of UTF-8.")
    private static let clientID = TypedField.uuidV4(
        "clientId",
        about:
            "The id that the message is to have. A host that died before it got the answer sends the same command again: the message is sent once."
    ).optional

    private static let replyTo = TypedField.uuid("replyTo", about: "The message of the chat that this one answers.")
        .optional
    private static let replyFrom = TypedField.whisperID(
        "replyFrom", about: "The author of that message. Default: the one of both who has this id."
    ).optional

    private static let expires = TypedField.integer(
        "expires", ClientLimits.timerSeconds,
        about: "Seconds after which it disappears. Without it the timer of the chat counts."
    ).optional

    static let messageSend = Verb(
        "message_send", of: "messages",
        about: "Queues a message. It is stored when this answers, and goes out now or when the server is back.",
        [
            Self.to.field, Self.text.field, Self.replyTo.field, Self.replyFrom.field, Self.clientID.field,
            Self.expires.field, ExtrasShapes.mentions.field,
        ],
        type: "message",
        [Field("message", .object(Shapes.message))],
        errors: [
            .noIdentity, .unknownContact, .bannedContact, .blockedContact, .toSelf, .tooLong, .notFound, .notMember,
            .conflict, .store,
        ],
        samples: (
            #"{"to":"WSP-AAAA-AAAA-AAAA","text":"It is."}"#,
            #"{"type":"message","message":{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","chat":"WSP-AAAA-AAAA-AAAA","direction":"out","time":1767225600000,"kind":"text","text":"It is.","state":"queued"}}"#
        ),
        .client { opened, parameters, json in
            let (to, text) = (try parameters[Self.to], try parameters[Self.text])
            let author = try parameters[Self.replyFrom]
            let replyTo = try (try parameters[Self.replyTo]).map {
                try opened.reference(to: $0, in: to, by: author, field: "replyTo")
            }
            let clientID = try parameters[Self.clientID]
            let expires = try parameters[Self.expires]
            let mentions = try ExtrasShapes.check(try parameters[ExtrasShapes.mentions], in: text)
            let message = try await opened.with {
                try $0.outbox.send(
                    text, to: to, id: clientID, replyTo: replyTo, expires: expires, mentions: mentions, $0)
            }
            guard message.place == to, message.content == .text(text) else {
                throw CoreError(.conflict, field: "clientId")
            }
            json.add("message", object: message) { Shapes.write($0, &$1) }
        })
}
