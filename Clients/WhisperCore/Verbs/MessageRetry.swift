import Contract
import WhisperClient

extension Verb {
    private static let chat = TypedField.whisperID("chat")

    static let messageRetry = Verb(
        "message_retry", of: "messages",
        about:
            "Queues again what has failed in a chat, the oldest first, \(ClientLimits.retriesMax) at a time. Cancelled and expired messages stay as they are.",
        [Self.chat.field], type: "queued", [Field("count", .integer(0...Int64(ClientLimits.retriesMax)))],
        errors: [.noIdentity, .store],
        samples: (#"{"chat":"WSP-AAAA-AAAA-AAAA"}"#, #"{"type":"queued","count":1}"#),
        .client { opened, parameters, json in
            json.add("count", Int64(try await opened.client.retry(to: try parameters[Self.chat]).count))
        })
}
