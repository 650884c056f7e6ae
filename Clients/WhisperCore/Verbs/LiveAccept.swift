import Contract
import WhisperClient

extension Verb {
    static let liveAccept = Verb(
        "live_accept", of: "live",
        about: "Lets somebody listen who asks to. They stay known, and are not asked about again.",
        [LiveParameters.conversation.field, LiveParameters.listener.field], type: "accepted", LiveParameters.done,
        errors: [.noIdentity, .notFound, .store],
        samples: (
            #"{\#(Shapes.sampleConversationID),"listener":"WSP-AAAA-AAAA-AAAA"}"#, LiveParameters.sampleDone("accepted")
        ),
        .client { opened, parameters, json in
            let (id, listener) = (try await opened.whispering(parameters), try parameters[LiveParameters.listener])
            guard await opened.client.callers(of: id).contains(where: { $0.listener == listener }) else {
                throw CoreError(.notFound, field: "listener")
            }
            try await opened.client.accept(listener, in: id)
            json.add("conversationId", id.uuid)
        })
}
