import Contract
import WhisperClient

extension Verb {
    private static let consumer = TypedField.text("consumer", CoreLimits.consumerCharacters)
    private static let after = TypedField.integer(
        "after", 0...Int64.max, about: "Default: what the consumer has acknowledged."
    ).optional
    private static let limit = TypedField.integer("limit", 1...Int64(CoreLimits.listMax), about: "Default 50.").optional

    static let eventsList = Verb(
        "events_list", of: "events",
        about: "Reads numbered events of a consumer without waiting, for hosts that have several.",
        [Self.consumer.field, Self.after.field, Self.limit.field], type: "events",
        [Field("events", .array(of: .object(EventDefinition.envelope), count: 0...CoreLimits.listMax + 1))],
        errors: [.noIdentity, .unknownConsumer, .store],
        samples: (#"{"consumer":"bot","limit":10}"#, #"{"type":"events","events":[]}"#),
        .read { opened, parameters, json in
            guard let progress = try opened.store.events.progress(of: try parameters[Self.consumer]) else {
                throw CoreError(.unknownConsumer, field: "consumer")
            }
            let account = opened.id
            let events = try opened.store.events.events(
                after: try parameters[Self.after] ?? progress.acknowledged,
                limit: Int(try parameters[Self.limit] ?? 50))
            json.add("events", array: events.compactMap { EventText.event($0, account: account) }) { $1 += $0 }
        })
}
