import Contract
import WhisperClient

extension Verb {
    private static let chat = ChatField("chat")
    private static let upTo = TypedField.integer(
        "upTo", 1...Int64.max, about: "The number of the latest message that may go. Default: all."
    ).optional

    static let chatClear = Verb(
        "chat_clear", of: "chats",
        about:
            "Forgets messages of a chat on this device alone, with their events. Messages that wait to be sent stay.",
        [Self.chat.field, Self.upTo.field], type: "cleared", [Field("count", .integer(0...Int64.max))],
        errors: [.noIdentity, .store],
        samples: (#"{"chat":"WSP-AAAA-AAAA-AAAA","upTo":7}"#, #"{"type":"cleared","count":5}"#),
        .client { opened, parameters, json in
            let (chat, upTo) = (try parameters[Self.chat], try parameters[Self.upTo])
            json.add("count", try await opened.with { try await $0.chats.clear(chat, upTo: upTo ?? .max, $0) })
        })
}
