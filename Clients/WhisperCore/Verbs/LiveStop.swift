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
                await opened.client.lastWords(in: id, within: .milliseconds(most))
            }
            try await opened.holds.ending(.whispering(id)) { try await opened.client.stopWhispering(in: id) }
            json.add("conversationId", id.uuid)
        })
}
