import Contract
import WhisperClient

extension Verb {
    static let liveRefuse = Verb(
        "live_refuse", of: "live", about: "Does not let somebody listen who asks to. They may ask again.",
        [LiveParameters.conversation.field, LiveParameters.listener.field], type: "refused", LiveParameters.done,
        errors: [.noIdentity, .notFound],
        samples: (
            #"{\#(Shapes.sampleConversationID),"listener":"WSP-AAAA-AAAA-AAAA"}"#, LiveParameters.sampleDone("refused")
        ),
        .client { opened, parameters, json in
            let id = try await opened.whispering(parameters)
            let listener = try await opened.caller(parameters, in: id)
            await opened.with { $0.streams.decline(listener, in: id, $0) }
            json.add("conversationId", id.uuid)
        })
}
