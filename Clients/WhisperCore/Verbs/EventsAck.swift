import Contract
import WhisperClient

extension Verb {
    private static let consumer = TypedField.text("consumer", CoreLimits.consumerCharacters)
    private static let seq = TypedField.integer("seq", 0...Int64.max, about: "All events up to this number are done.")

    static let eventsAck = Verb(
        "events_ack", of: "events", about: "Acknowledges events: they do not come again for this consumer.",
        [Self.consumer.field, Self.seq.field], type: "acked",
        [Field("acked", .integer(0...Int64.max)), Field("newest", .integer(0...Int64.max))],
        errors: [.noIdentity, .unknownConsumer, .store],
        samples: (#"{"consumer":"bot","seq":7}"#, #"{"type":"acked","acked":7,"newest":9}"#),
        .store { reader, opened, parameters, json in
            let consumer = try parameters[Self.consumer]
            guard let progress = try opened.store.events.acknowledge(try parameters[Self.seq], by: consumer) else {
                let isKnown = try opened.store.events.consumers()[consumer] != nil
                throw CoreError(.unknownConsumer, field: isKnown ? "seq" : "consumer")
            }
            reader.feeds.acknowledge(progress.acknowledged, by: consumer)
            json.add("acked", progress.acknowledged)
            json.add("newest", progress.newest)
        })
}
