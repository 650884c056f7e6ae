import Contract
import WhisperClient

extension Verb {
    private static let chat = ChatField("chat", about: "Id of a contact or a group.")
    private static let text = TypedField.text(
        "text", 0...ClientLimits.textBytesMax, about: "Typed text that is not sent. Empty: nothing.")

    static let chatDraft = Verb(
        "chat_draft", of: "chats", about: "Keeps what was typed and not sent. `chat_list` gives it back.",
        [Self.chat.field, Self.text.field], type: "drafted", errors: [.noIdentity, .unknownContact, .tooLong, .store],
        samples: (#"{"chat":"WSP-AAAA-AAAA-AAAA","text":"It may"}"#, #"{"type":"drafted"}"#),
        .client { opened, parameters, _ in
            let text = try parameters[Self.text]
            guard text.utf8.count <= ClientLimits.textBytesMax else {
                throw CoreError(.tooLong, "has too many bytes", field: "text")
            }
            let isKept = try await opened.with { try $0.chats.set(draft: text, in: try parameters[Self.chat], $0) }
            guard isKept else { throw CoreError(.unknownContact) }
        })
}
