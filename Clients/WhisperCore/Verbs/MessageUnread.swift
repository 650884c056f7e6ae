import Contract
import WhisperClient

extension Verb {
    private static let limit = TypedField.integer("limit", 1...Int64(CoreLimits.listMax), about: "Default 50.").optional

    private static let chat = ChatField("chat", about: "Only what came there: a Whisper ID, or the id of a group.")
        .optional
    private static let after = TypedField.integer("after", 0...Int64.max, about: "Only what is newer than this number.")
        .optional

    static let messageUnread = Verb(
        "message_unread", of: "messages",
        about: "Lists everything that came and was not read, mail to groups too, oldest first.",
        [Self.chat.field, Self.after.field, Self.limit.field], type: "unread",
        [
            Field("messages", .array(of: .object(Shapes.numberedMessage), count: 0...CoreLimits.listMax)),
            Field("count", .integer(0...Int64.max), about: "Number of unread messages, in all chats."),
        ], errors: [.noIdentity, .store], samples: ("{}", #"{"type":"unread","messages":[],"count":0}"#),
        .read { opened, parameters, json in
            let messages = try opened.store.messages.unread(
                in: try parameters[Self.chat], after: try parameters[Self.after] ?? 0,
                limit: Int(try parameters[Self.limit] ?? 50))
            json.add("messages", objects: messages) { Shapes.write($0, &$1) }
            json.add("count", Int64(try opened.store.messages.unreadCount()))
        })
}
