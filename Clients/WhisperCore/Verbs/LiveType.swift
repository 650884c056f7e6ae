import Contract
import WhisperClient

extension Verb {
    static let liveType = Verb(
        "live_type", of: "live",
        about:
            "Says how the line under the hands reads now, after each key. Each line end in it completes a line. The core makes packets of it.",
        [LiveParameters.conversation.field, LiveParameters.text.field], type: "typed", LiveParameters.done,
        errors: [.noIdentity, .notFound, .tooMany],
        samples: (#"{\#(Shapes.sampleConversationID),"text":"Is this th"}"#, LiveParameters.sampleDone("typed")),
        .client { opened, parameters, json in
            let (id, text) = (try await opened.whispering(parameters), try parameters[LiveParameters.text])
            try await opened.with { try $0.streams.type(text, in: id, $0) }
            json.add("conversationId", id.uuid)
        })
}
