import Contract
import WhisperClient

extension Verb {
    private static let caller = ObjectSchema([
        Shapes.listener, Shapes.listenerName, Field("note", .text(0...200), .optional),
    ])
    private static let known = ObjectSchema([
        Shapes.listener, Shapes.listenerName, Field("isPresent", .bool, about: "Whether this one listens now."),
    ])

    static let liveRoster = Verb(
        "live_roster", of: "live", about: "Shows who asks to listen, and who may.", [LiveParameters.conversation.field],
        type: "roster",
        [
            Field("callers", .array(of: .object(Self.caller), count: 0...LiveLimits.waitingMax)),
            Field("listeners", .array(of: .object(Self.known), count: 0...LiveLimits.listenersMax)),
        ], errors: [.noIdentity, .notFound],
        samples: (LiveParameters.named, #"{"type":"roster","callers":[],"listeners":[]}"#),
        .client { opened, parameters, json in
            let id = try await opened.whispering(parameters)
            let callers = await opened.with { $0.streams.callers(of: id) }.prefix(LiveLimits.waitingMax)
            let listeners = await opened.with { $0.streams.listeners(of: id) }.prefix(LiveLimits.listenersMax)
            json.add("callers", objects: callers) { caller, json in
                json.add("listener", "\(caller.listener)")
                json.add("name", caller.name)
                json.add("note", caller.note)
            }
            json.add("listeners", objects: listeners) { one, json in
                json.add("listener", "\(one.listener.id)")
                json.add("name", one.listener.name)
                json.add("isPresent", one.isPresent)
            }
        })
}
