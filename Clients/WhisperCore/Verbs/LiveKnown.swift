import Contract
import WhisperClient

extension Verb {
    static let liveKnown = Verb(
        "live_known", of: "live",
        about:
            "Shows without the server which conversations are our own, and which we have listened to, the last one first.",
        type: "known",
        [
            Field(
                "own", .array(of: .object(Shapes.ownConversation), count: 0...LiveLimits.conversationsPerProfileMax)),
            Field("defaultId", .lowerCaseUUID, .optional, about: "The conversation of `live_start` without another."),
            Field("lastId", .lowerCaseUUID, .optional, about: "The one that was whispered in last."),
            Field("heard", .array(of: .object(Shapes.heardConversation), count: 0...CoreLimits.listMax)),
        ], errors: [.noIdentity, .store], samples: ("{}", #"{"type":"known","own":[],"heard":[]}"#),
        .read { opened, _, json in
            let (live, origin) = (opened.live, opened.origin)
            let own = try live.conversations().prefix(LiveLimits.conversationsPerProfileMax)
            json.add("own", objects: own) { Shapes.write($0, nil, origin: origin, &$1) }
            if let id = try live.defaultConversation()?.id { json.add("defaultId", id.uuid) }
            if let id = try live.lastConversation() { json.add("lastId", id.uuid) }
            json.add("heard", objects: try live.heard().prefix(CoreLimits.listMax)) { Shapes.write($0, &$1) }
        })
}
