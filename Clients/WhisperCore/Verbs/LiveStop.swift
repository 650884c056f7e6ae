import Contract
import WhisperClient

extension Verb {
    private static let lastWords = TypedField.integer(
        "lastWordsMs", 0...CoreLimits.lastWordsMillisecondsMax,
        about: "How long what was typed may take to go out before. Default: 0."
    ).optional

    static let liveStop = Verb(
        "live_stop", of: "live",
        about: "Ends the stream. Without an answer of the server it pauses, and `live_start` takes it up again.",
        [LiveParameters.conversation.field, Self.lastWords.field], type: "liveStopped",
        LiveParameters.done, errors: LiveParameters.errors,
        samples: (LiveParameters.named, LiveParameters.sampleDone("liveStopped")),
        .server { opened, parameters, json in
            let id = try await opened.whispering(parameters)
            if let most = try parameters[Self.lastWords] {
                await opened.with { await $0.streams.lastWords(in: id, within: .milliseconds(most), $0) }
            }
            try await opened.ending(.whispering(id)) { try await $0.streams.stop(in: id, $0) }
            json.add("conversationId", id.uuid)
        })
}
