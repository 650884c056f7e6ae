import Contract
import WhisperClient

/// Mentions and polls of messages.
enum ExtrasShapes {
    static let mentions = TypedField<[Mention]>.objects(
        "mentions", Self.mention, count: 1...ClientLimits.mentionsMax,
        about: "People who are named in the text, in their order. Places are counted in Unicode scalars."
    ) { payload throws(Payload.Corrupted) in
        Mention(
            id: try payload[Self.id], start: Int(try payload[Self.start]), count: Int(try payload[Self.count]))
    } write: { mention in
        var json = JSONWriter(capacity: 64)
        json.add(Self.id, mention.id)
        json.add(Self.start, Int64(mention.start))
        json.add(Self.count, Int64(mention.count))
        return json.finished()
    }.optional

    private static let mention = ObjectSchema([Self.id.field, Self.start.field, Self.count.field])
    private static let id = TypedField.whisperID("whisperId")
    private static let start = TypedField.integer("start", 0...Int64(ClientLimits.textBytesMax))
    private static let count = TypedField.integer("count", 1...Int64(ClientLimits.textBytesMax))

    static let poll = ObjectSchema([
        Field(
            "options",
            .array(
                of: .object(
                    ObjectSchema([
                        Field("text", .text(1...ClientLimits.optionBytesMax)),
                        Field("voters", .array(of: .whisperID, count: 0...ClientLimits.reactionsMax)),
                    ])), count: ClientLimits.pollOptions), about: "With those who chose them."),
        Field("many", .bool, about: "Whether a person may choose more than one."),
        Field("until", .timestamp, .optional, about: "Later votes do not count."),
    ])

    /// Checks mentions of a text.
    static func check(_ mentions: [Mention]?, in text: String) throws(CoreError) -> [Mention] {
        let mentions = mentions ?? []
        guard Mention.areValid(mentions, in: text) else {
            throw CoreError(.invalidField, "do not stand in the text, or stand over each other", field: "mentions")
        }
        return mentions
    }

    static func write(_ poll: Poll, _ json: inout JSONWriter) {
        json.add("options", objects: poll.options.enumerated()) { option, json in
            json.add("text", option.element)
            json.add("voters", array: poll.votes.filter { $0.choices.contains(option.offset) }) {
                JSONWriter.append(string: "\($0.from)", to: &$1)
            }
        }
        json.add("many", poll.isMany)
        if let until = poll.until { json.add("until", until) }
    }
}
