import Contract
import WhisperClient

extension Verb {
    private static let text = TypedField.text(
        "text", 1...CoreLimits.searchCharactersMax,
        about: "Words. The beginning of the last one is enough. At most \(ClientLimits.searchWordsMax) count.")
    private static let chat = ChatField("chat", about: "Only this chat. Default: all mail.").optional
    private static let limit = TypedField.integer("limit", 1...Int64(CoreLimits.listMax), about: "Default 50.").optional
    private static let cursor = TypedField.integer("cursor", 1...Int64.max, about: "As the page before gave it.")
        .optional

    static let search = Verb(
        "search", of: "chats",
        about:
            "Finds texts that have all of the words, the newest first. Case and accents do not count. In Chinese, Japanese and Korean any part of a word is enough. Deleted messages are not found.",
        [Self.text.field, Self.chat.field, Self.limit.field, Self.cursor.field], type: "found",
        [
            Field("messages", .array(of: .object(Shapes.numberedMessage), count: 0...CoreLimits.listMax)),
            Field("cursor", .integer(1...Int64.max), .optional, about: "For the next page, if there may be one."),
        ], errors: [.noIdentity, .store],
        samples: (#"{"text":"tea on sun"}"#, #"{"type":"found","messages":[]}"#),
        .read { opened, parameters, json in
            let limit = Int(try parameters[Self.limit] ?? 50)
            let page = try opened.store.search(
                try parameters[Self.text], in: try parameters[Self.chat], before: try parameters[Self.cursor],
                limit: limit)
            json.add("messages", objects: page) { Shapes.write($0, &$1) }
            if page.count == limit, let last = page.last { json.add("cursor", last.number) }
        })
}
