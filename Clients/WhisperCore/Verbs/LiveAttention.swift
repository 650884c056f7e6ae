import Contract
import WhisperClient

extension Verb {
    private static let want = TypedField<LiveAttention.Want>.choice(
        "want", about: "To say something, to hear it again, or to have it slower.")

    static let liveAttention = Verb(
        "live_attention", of: "live", about: "Tells the whisperer what a listener wants. It may be lost.",
        [LiveParameters.conversation.field, Self.want.field], type: "raised", LiveParameters.done,
        errors: [.noIdentity, .notFound, .offline],
        samples: (#"{\#(Shapes.sampleConversationID),"want":"slower"}"#, LiveParameters.sampleDone("raised")),
        .client { opened, parameters, json in
            let (id, want) = (try await opened.listening(parameters), try parameters[Self.want])
            try await opened.with { try $0.heard.raise(want, in: id, $0) }
            json.add("conversationId", id.uuid)
        })
}
