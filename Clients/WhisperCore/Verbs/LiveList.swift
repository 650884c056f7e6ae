import Contract
import WhisperClient

extension Verb {
    static let liveList = Verb(
        "live_list", of: "live", about: "Shows conversations of our own, with what the server says of each.",
        type: "conversations",
        [
            Field(
                "conversations",
                .array(of: .object(Shapes.ownConversation), count: 0...LiveLimits.conversationsPerProfileMax))
        ], errors: LiveParameters.errors,
        samples: ("{}", #"{"type":"conversations","conversations":[]}"#),
        .server { opened, _, json in
            let own = try await opened.with { try await $0.conversations.list($0) }
                .prefix(LiveLimits.conversationsPerProfileMax)
            let origin = opened.origin
            json.add("conversations", objects: own) { Shapes.write($0.0, $0.1, origin: origin, &$1) }
        })
}
