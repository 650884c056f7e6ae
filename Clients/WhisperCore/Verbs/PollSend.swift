import Contract
import WhisperClient

extension Verb {
    private static let to = ChatField("to", about: "A contact or a group.")
    private static let text = TypedField.text("text", 1...ClientLimits.textBytesMax, about: "The question.")
    private static let options = TypedField.texts(
        "options", 1...ClientLimits.optionBytesMax, count: ClientLimits.pollOptions,
        about: "At most \(ClientLimits.optionBytesMax) bytes of UTF-8 each.")
    private static let many = TypedField.bool("many", about: "Whether a person may choose more than one.").optional
    private static let until = TypedField.timestamp("until", about: "Later votes do not count.").optional
    private static let clientID = TypedField.uuidV4(
        "clientId", about: "The id that the message is to have, as with `message_send`."
    ).optional

    static let pollSend = Verb(
        "poll_send", of: "messages",
        about: "Queues a message with a poll. Clients that do not know polls show the question.",
        [
            Self.to.field, Self.text.field, Self.options.field, Self.many.field, Self.until.field, Self.clientID.field,
        ], type: "message", [Field("message", .object(Shapes.message))],
        errors: [
            .noIdentity, .unknownContact, .bannedContact, .blockedContact, .toSelf, .tooLong, .notMember, .conflict,
            .store,
        ],
        samples: (
            #"{"to":"WSP-AAAA-AAAA-AAAA","text":"Tea?","options":["Yes","No"]}"#,
            #"{"type":"message","message":{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","chat":"WSP-AAAA-AAAA-AAAA","direction":"out","time":1767225600000,"kind":"text","text":"Tea?","poll":{"options":[{"text":"Yes","voters":[]},{"text":"No","voters":[]}],"many":false},"state":"queued"}}"#
        ),
        .client { opened, parameters, json in
            let (to, text) = (try parameters[Self.to], try parameters[Self.text])
            let poll = Poll(
                options: try parameters[Self.options], isMany: try parameters[Self.many] ?? false,
                until: try parameters[Self.until])
            guard let poll else { throw CoreError(.tooLong, "has an option with too many bytes", field: "options") }
            let id = try parameters[Self.clientID]
            let message = try await opened.with { try $0.outbox.send(text, to: to, id: id, poll: poll, $0) }
            guard message.place == to, message.content == .text(text) else {
                throw CoreError(.conflict, field: "clientId")
            }
            json.add("message", object: message) { Shapes.write($0, &$1) }
        })
}
