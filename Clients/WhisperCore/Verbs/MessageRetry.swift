import Contract
import WhisperClient

extension Verb {
    private static let chat = ChatField("chat")

    static let messageRetry = Verb(
        "message_retry", of: "messages",
        about:
            "Queues again what has failed in a chat, the oldest first, \(ClientLimits.retriesMax) at a time. Cancelled and expired messages stay as they are. In a group it goes again to those members alone for whom it has failed.",
        [Self.chat.field], type: "queued",
        [
            Field("count", .integer(0...Int64(ClientLimits.retriesMax))),
            Field("messageIds", .array(of: .uuid, count: 0...ClientLimits.retriesMax), about: "In their order."),
        ],
        errors: [.noIdentity, .store],
        samples: (
            #"{"chat":"WSP-AAAA-AAAA-AAAA"}"#,
            #"{"type":"queued","count":1,"messageIds":["9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"]}"#
        ),
        .client { opened, parameters, json in
            let messages = try await opened.with { try $0.outbox.retry(in: try parameters[Self.chat], $0) }
            json.add("count", Int64(messages.count))
            json.add("messageIds", strings: messages.map { "\($0.id)" })
        })
}
