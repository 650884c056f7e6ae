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
            let id = try await opened.whispering(parameters)
            let listener = try await opened.caller(parameters, in: id)
            try await opened.with { try $0.streams.accept(listener, in: id, $0) }
            json.add("conversationId", id.uuid)
        })
}
