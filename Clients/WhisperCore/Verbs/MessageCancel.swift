import Contract
import WhisperClient

extension Verb {
    private static let chat = ChatField("chat")

    static let messageCancel = Verb(
        "message_cancel", of: "messages",
        about: "Gives up what still waits in a chat. A message that is under way goes on.",
        [Self.chat.field], type: "cancelled", [Field("count", .integer(0...Int64.max))],
        errors: [.noIdentity, .store],
        samples: (#"{"chat":"WSP-AAAA-AAAA-AAAA"}"#, #"{"type":"cancelled","count":1}"#),
        .client { opened, parameters, json in
            let messages = try await opened.with { try $0.outbox.cancel(in: try parameters[Self.chat], $0) }
            json.add("count", Int64(messages.count))
        })
}
