import Contract
import WhisperClient

extension Verb {
    private static let chat = ChatField("chat")

    static let messageRetry = Verb(
        "message_retry", of: "messages",
        about:
            "Queues again what has failed in a chat, the oldest first, \(ClientLimits.retriesMax) at a time. Cancelled and expired messages stay as they are. In a group it goes again to those members alone for whom it has failed.",
        [Self.chat.field], type: "queued", [Field("count", .integer(0...Int64(ClientLimits.retriesMax)))],
        errors: [.noIdentity, .store],
        samples: (#"{"chat":"WSP-AAAA-AAAA-AAAA"}"#, #"{"type":"queued","count":1}"#),
        .client { opened, parameters, json in
            let messages =
                switch try parameters[Self.chat] {
                case .direct(let peer): try await opened.client.retry(to: peer)
                case .group(let id): try await opened.client.retry(inGroup: id)
                }
            json.add("count", Int64(messages.count))
        })
}
