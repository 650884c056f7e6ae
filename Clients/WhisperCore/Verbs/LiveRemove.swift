import Contract
import WhisperClient

extension Verb {
    private static let isBlocked = TypedField.bool(
        "isBlocked",
        about: "Whether they may not ask again. A listener who only asks can be blocked too. Default: false."
    ).optional

    static let liveRemove = Verb(
        "live_remove", of: "live", about: "Sends a listener away. Everybody else gets new keys.",
        [LiveParameters.conversation.field, LiveParameters.listener.field, Self.isBlocked.field], type: "removed",
        LiveParameters.done, errors: [.noIdentity, .notFound, .store],
        samples: (
            #"{\#(Shapes.sampleConversationID),"listener":"WSP-AAAA-AAAA-AAAA"}"#, LiveParameters.sampleDone("removed")
        ),
        .client { opened, parameters, json in
            let (id, listener) = (try await opened.whispering(parameters), try parameters[LiveParameters.listener])
            let isBlocked = try parameters[Self.isBlocked] ?? false
            let allowed = await opened.with { $0.streams.listeners(of: id) }.map(\.listener.id)
            let callers = isBlocked ? await opened.with { $0.streams.callers(of: id) }.map(\.listener) : []
            guard (allowed + callers).contains(listener) else { throw CoreError(.notFound, field: "listener") }
            try await opened.with { try $0.streams.remove(listener, isBlocked: isBlocked, in: id, $0) }
            json.add("conversationId", id.uuid)
        })
}
