import Contract
import WhisperClient

extension Verb {
    static let liveForget = Verb(
        "live_forget", of: "live", about: "Has the server forget the kept lines of one stream, and all shares of them.",
        [LiveParameters.conversation.field, LiveParameters.content.field], type: "forgotten", LiveParameters.done,
        errors: LiveParameters.errors,
        samples: (
            #"{\#(Shapes.sampleConversationID),"contentId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"}"#,
            LiveParameters.sampleDone("forgotten")
        ),
        .server { opened, parameters, json in
            let (id, content) = (try parameters[LiveParameters.conversation], try parameters[LiveParameters.content])
            try await opened.with { try await $0.conversations.deleteTranscript(content, of: id, $0) }
            json.add("conversationId", id.uuid)
        })
}
