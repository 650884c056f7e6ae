import Contract
import WhisperClient

extension Verb {
    private static let consumer = TypedField.text("consumer", CoreLimits.consumerCharacters)

    static let eventsUnsubscribe = Verb(
        "events_unsubscribe", of: "events", about: "Forgets a consumer, and what was kept for it alone.",
        [Self.consumer.field], type: "unsubscribed", errors: [.noIdentity, .unknownConsumer, .store],
        samples: (#"{"consumer":"bot"}"#, #"{"type":"unsubscribed"}"#),
        .store { reader, opened, parameters, _ in
            let consumer = try parameters[Self.consumer]
            guard try opened.store.events.unsubscribe(consumer) else {
                throw CoreError(.unknownConsumer, field: "consumer")
            }
            reader.feeds.unsubscribe(consumer)
        })
}
