import Contract
import WhisperClient

extension Verb {
    private static let chat = ChatField("chat")
    private static let upTo = TypedField.integer(
        "upTo", 1...Int64.max, about: "The number of the latest message that was shown. Later ones stay unread.")

    static let chatRead = Verb(
        "chat_read", of: "chats", about: "Marks messages of a chat as read, here and for their sender.",
        [Self.chat.field, Self.upTo.field], type: "read", [Field("count", .integer(0...Int64.max))],
        errors: [.noIdentity, .store],
        samples: (#"{"chat":"WSP-AAAA-AAAA-AAAA","upTo":7}"#, #"{"type":"read","count":2}"#),
        .client { opened, parameters, json in
            let (chat, upTo) = (try parameters[Self.chat], try parameters[Self.upTo])
            let most = CoreLimits.listMax
            let count = try await opened.with { try await $0.chats.read(chat, upTo: upTo, limit: most, $0) }
            json.add("count", count)
        })
}
