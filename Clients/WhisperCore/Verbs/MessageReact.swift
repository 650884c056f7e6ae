import Contract
import WhisperClient

extension Verb {
    private static let chat = ChatField("chat")
    private static let messageID = TypedField.uuid("messageId")
    private static let from = TypedField.whisperID(
        "from", about: "The author of the message. Default: the one of both who has this id."
    ).optional
    private static let reaction = TypedField.text(
        "reaction", 0...ClientLimits.reactionBytesMax,
        about:
            "An emoji, at most \(ClientLimits.reactionBytesMax) bytes of UTF-8. It takes the place of the one before. Empty: none any more."
    )

    static let messageReact = Verb(
        "message_react", of: "messages", about: "Reacts to a message of a chat, theirs or ours.",
        [Self.chat.field, Self.messageID.field, Self.from.field, Self.reaction.field], type: "message",
        [Field("message", .object(Shapes.message))],
        errors: [
            .noIdentity, .notFound, .notText, .unknownContact, .bannedContact, .blockedContact, .notMember, .tooLong,
            .tooMany, .store,
        ],
        samples: (
            #"{"chat":"WSP-AAAA-AAAA-AAAA","messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","reaction":"👍"}"#,
            #"{"type":"message","message":{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","chat":"WSP-AAAA-AAAA-AAAA","direction":"in","time":1767225600000,"kind":"text","text":"Is this thing on?","reactions":[{"from":"WSP-JBPU-D452-TLT4","reaction":"👍"}],"isRead":true}}"#
        ),
        .client { opened, parameters, json in
            let (chat, reaction) = (try parameters[Self.chat], try parameters[Self.reaction])
            guard reaction.utf8.count <= ClientLimits.reactionBytesMax else {
                throw CoreError(.tooLong, "has too many bytes", field: "reaction")
            }
            let reference = try opened.reference(
                to: try parameters[Self.messageID], in: chat, by: try parameters[Self.from], field: "messageId")
            let changed = try await opened.with { try $0.outbox.change(reference, in: chat, .react(reaction), $0) }
            json.add("message", object: changed) { Shapes.write($0, &$1) }
        })
}
