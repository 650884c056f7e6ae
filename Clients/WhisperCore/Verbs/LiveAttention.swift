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
            let id = try parameters[LiveParameters.conversation]
            guard await opened.client.isListening(to: id) else { throw CoreError(.notFound, field: "conversationId") }
            try await opened.client.raise(try parameters[Self.want], in: id)
            json.add("conversationId", id.uuid)
        })
}
