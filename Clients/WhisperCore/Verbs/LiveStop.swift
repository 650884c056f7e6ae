import Contract
import WhisperClient

extension Verb {
    static let liveStop = Verb(
        "live_stop", of: "live",
        about: "Ends the stream. Without an answer of the server it pauses, and `live_start` takes it up again.",
        [LiveParameters.conversation.field], type: "liveStopped",
        LiveParameters.done, errors: LiveParameters.errors,
        samples: (LiveParameters.named, LiveParameters.sampleDone("liveStopped")),
        .server { opened, parameters, json in
            let id = try await opened.whispering(parameters)
            try await opened.client.stopWhispering(in: id)
            json.add("conversationId", id.uuid)
        })
}
