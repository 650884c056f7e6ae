import Contract
import WhisperClient

extension Verb {
    private static let conversation = LiveParameters.conversation.optional

    static let liveStart = Verb(
        "live_start", of: "live",
        about:
            "Begins to whisper, now or when the server is there; without a conversation, in the default one. A stream that was left without an end goes on. `liveStarted` says when it does.",
        [Self.conversation.field], type: "whispering", LiveParameters.done,
        errors: [.noIdentity, .notFound, .store],
        samples: (LiveParameters.named, LiveParameters.sampleDone("whispering")),
        .client { opened, parameters, json in
            let given = try parameters[Self.conversation]
            let id = if let given { given } else { try await opened.with { try $0.conversations.standard($0).id } }
            try await opened.whisper(in: id)
            json.add("conversationId", id.uuid)
        })
}
