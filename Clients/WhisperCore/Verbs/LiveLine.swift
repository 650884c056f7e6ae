import Contract
import WhisperClient

extension Verb {
    static let liveLine = Verb(
        "live_line", of: "live",
        about: "Says something in between, as whole lines. The line that is being typed stays.",
        [LiveParameters.conversation.field, LiveParameters.text.field], type: "typed", LiveParameters.done,
        errors: [.noIdentity, .notFound, .tooMany],
        samples: (#"{\#(Shapes.sampleConversationID),"text":"Is this th"}"#, LiveParameters.sampleDone("typed")),
        .client { opened, parameters, json in
            let (id, text) = (try await opened.whispering(parameters), try parameters[LiveParameters.text])
            try await opened.with { try $0.streams.interject(text, in: id, $0) }
            json.add("conversationId", id.uuid)
        })
}
