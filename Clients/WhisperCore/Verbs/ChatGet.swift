import Contract
import WhisperClient

extension Verb {
    private static let chat = TypedField.whisperID("chat")
    private static let before = TypedField.integer(
        "before", 1...Int64.max, about: "Only what is older than this number."
    ).optional
    private static let after = TypedField.integer("after", 0...Int64.max, about: "Only what is newer than this number.")
        .optional
    private static let limit = TypedField.integer("limit", 1...Int64(CoreLimits.listMax), about: "Default 50.").optional

    static let chatGet = Verb(
        "chat_get", of: "chats",
        about: "Reads a chat, oldest first: its latest messages, those before a number, or those after one.",
        [Self.chat.field, Self.before.field, Self.after.field, Self.limit.field], type: "messages",
        [Field("messages", .array(of: .object(Shapes.numberedMessage), count: 0...CoreLimits.listMax))],
        errors: [.noIdentity, .store],
        samples: (#"{"chat":"WSP-AAAA-AAAA-AAAA","limit":20}"#, #"{"type":"messages","messages":[]}"#),
        .read { opened, parameters, json in
            let page = try opened.store.page(
                with: try parameters[Self.chat], before: try parameters[Self.before], after: try parameters[Self.after],
                limit: Int(try parameters[Self.limit] ?? 50))
            json.add("messages", objects: page) { Shapes.write($0, &$1) }
        })
}
