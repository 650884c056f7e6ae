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
            let own = try opened.ownConversation(try parameters[LiveParameters.conversation])
            let isOpen = await opened.with { $0.streams.isWhispering(in: own.id) }
            if !isOpen { try await opened.with { try $0.streams.whisper(in: own, $0) } }
            json.add("conversationId", own.id.uuid)
        })
}
