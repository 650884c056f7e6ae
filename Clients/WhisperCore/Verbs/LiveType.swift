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
            let id = try await opened.whispering(parameters)
            try await opened.client.type(try parameters[LiveParameters.text], in: id)
            json.add("conversationId", id.uuid)
        })
}
