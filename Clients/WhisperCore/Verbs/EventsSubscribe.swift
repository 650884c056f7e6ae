import Contract
import WhisperClient

extension Verb {
    private static let consumer = TypedField.text(
        "consumer", CoreLimits.consumerCharacters, about: "A name of your choice that stays the same.")
    private static let after = TypedField.integer(
        "after", 0...Int64.max,
        about: "A new consumer starts behind this number, by default behind the newest. A known one acknowledges by it."
    ).optional

    static let subscriptionFields = [
        Field("acked", .integer(0...Int64.max)), Field("newest", .integer(0...Int64.max)),
        Field("isKnown", .bool, about: "Whether it was subscribed before, so that no event is missing behind `acked`."),
    ]

    static let eventsSubscribe = Verb(
        "events_subscribe", of: "events",
        about:
            "From here on the reader gets numbered events for this consumer, beginning with what it has not acknowledged. The consumer stays known, and keeps its events, until `events_unsubscribe`.",
        [Self.consumer.field, Self.after.field], type: "subscribed",
        Self.subscriptionFields,
        errors: [.noIdentity, .busyReader, .tooMany, .unknownConsumer, .store],
        samples: (#"{"consumer":"bot"}"#, #"{"type":"subscribed","acked":0,"newest":0,"isKnown":false}"#),
        .store { reader, opened, parameters, json in
            let (consumer, after) = (try parameters[Self.consumer], try parameters[Self.after])
            var isKnown = false
            let progress = try reader.read(for: consumer) {
                isKnown = try opened.store.events.progress(of: consumer) != nil
                if let progress = try opened.store.events.subscribe(consumer, after: after) { return progress }
                let isFull = try opened.store.events.consumers().count >= ClientLimits.consumersMax
                throw isFull ? CoreError(.tooMany, field: "consumer") : CoreError(.unknownConsumer, field: "after")
            }
            if let before = reader.feeds.takeFeed(before: consumer) {
                opened.holds.inherit(by: reader.feed, from: before)
            }
            json.add("acked", progress.acknowledged)
            json.add("newest", progress.newest)
            json.add("isKnown", isKnown)
        })
}
