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
            let (id, listener) = (try await opened.whispering(parameters), try parameters[LiveParameters.listener])
            guard await opened.client.callers(of: id).contains(where: { $0.listener == listener }) else {
                throw CoreError(.notFound, field: "listener")
            }
            await opened.client.decline(listener, in: id)
            json.add("conversationId", id.uuid)
        })
}
