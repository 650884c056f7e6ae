import Contract
import WhisperClient

extension Verb {
    private static let chat = ChatField("chat")
    private static let messageID = TypedField.uuid("messageId")
    private static let from = TypedField.whisperID(
        "from", about: "The author of the poll. Default: the one of both who has this id."
    ).optional
    private static let choices = TypedField.integers(
        "choices", 0...Int64(ClientLimits.pollOptions.upperBound - 1), count: 0...ClientLimits.pollOptions.upperBound,
        about:
            "Places of options, the first is 0, ascending. They take the place of those before. Empty: none any more."
    )

    static let pollVote = Verb(
        "poll_vote", of: "messages", about: "Votes in a poll of a chat, theirs or ours.",
        [Self.chat.field, Self.messageID.field, Self.from.field, Self.choices.field], type: "message",
        [Field("message", .object(Shapes.message))],
        errors: [
            .noIdentity, .notFound, .notText, .unknownContact, .bannedContact, .blockedContact, .notMember, .tooMany,
            .store,
        ],
        samples: (
            #"{"chat":"WSP-AAAA-AAAA-AAAA","messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","choices":[0]}"#,
            #"{"type":"message","message":{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","chat":"WSP-AAAA-AAAA-AAAA","direction":"in","time":1767225600000,"kind":"text","text":"Tea?","poll":{"options":[{"text":"Yes","voters":["WSP-JBPU-D452-TLT4"]},{"text":"No","voters":[]}],"many":false},"isRead":true}}"#
        ),
        .client { opened, parameters, json in
            let chat = try parameters[Self.chat]
            let reference = try opened.reference(
                to: try parameters[Self.messageID], in: chat, by: try parameters[Self.from], field: "messageId")
            let changed = try await opened.with {
                try $0.outbox.change(reference, in: chat, .vote(try parameters[Self.choices].map { Int($0) }), $0)
            }
            json.add("message", object: changed) { Shapes.write($0, &$1) }
        })
}
