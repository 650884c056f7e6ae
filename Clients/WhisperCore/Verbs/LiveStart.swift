import Contract
import WhisperClient

extension Verb {
    static let liveStart = Verb(
        "live_start", of: "live",
        about:
            "Begins to whisper, now or when the server is there. A stream that was left without an end goes on. `liveStarted` says when it does.",
        [LiveParameters.conversation.field], type: "whispering", LiveParameters.done,
        errors: [.noIdentity, .notFound, .store],
        samples: (LiveParameters.named, LiveParameters.sampleDone("whispering")),
        .client { opened, parameters, json in
            let id = try parameters[LiveParameters.conversation]
            try await opened.whisper(in: id)
            json.add("conversationId", id.uuid)
        })
}
