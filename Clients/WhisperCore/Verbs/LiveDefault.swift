import Contract
import WhisperClient

extension Verb {
    private static let conversation = LiveParameters.conversation.optional

    static let liveDefault = Verb(
        "live_default", of: "live",
        about:
            "Shows the conversation in which a person whispers without choosing one, or chooses it. Without one it is made.",
        [Self.conversation.field], type: "conversation", LiveParameters.own, errors: [.noIdentity, .notFound, .store],
        samples: ("{}", LiveParameters.sampleOwn),
        .client { opened, parameters, json in
            let id = try parameters[Self.conversation]
            let own = try await opened.with { client in
                guard let id else { return try client.conversations.standard(client) }
                return try client.conversations.setStandard(id, client)
            }
            let origin = opened.origin
            json.add("conversation", object: own) { Shapes.write($0, nil, origin: origin, &$1) }
        })
}
