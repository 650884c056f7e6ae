import Contract
import WhisperClient

/// Events of live conversations: of our own, and of those that we listen to.
extension EventDefinition {
    private static func live(
        _ type: String, about: String, _ fields: [Field] = [], sample: String = ""
    ) -> EventDefinition {
        EventDefinition(
            type, about: about, isKept: false, [Shapes.conversationID] + fields,
            sample: #"{"type":"\#(type)",\#(Shapes.sampleConversationID)\#(sample)}"#)
    }

    private static let sampleListener = #","listener":"WSP-AAAA-AAAA-AAAA","name":"Bob""#

    /// In the order of the documents.
    static let ofLive: [EventDefinition] = [
        // Our own streams.
        Self.live(
            "liveStarted", about: "This device holds the stream: what is typed goes out.",
            [Field("isResumed", .bool, about: "Whether a stream goes on that was left without an end.")],
            sample: #","isResumed":false"#),
        Self.live(
            "liveStopped", about: "This device does not hold the stream any more.",
            [Field("reason", .choice(LiveStopped.Reason.allCases.map(\.rawValue)))], sample: #","reason":"taken_over""#),
        Self.live(
            "liveFailed", about: "The stream cannot be held: the server refuses.",
            [Field("code", .text(1...64), about: "The server's, as in the protocol.")], sample: #","code":"FORBIDDEN""#),
        Self.live(
            "liveKnocked", about: "Somebody asks to listen. Decide by `live_accept` or `live_refuse`.",
            [
                Shapes.listener, Shapes.listenerName,
                Field("note", .text(0...200), .optional, about: "A word of theirs."),
            ],
            sample: Self.sampleListener),
        Self.live(
            "liveListener", about: "A listener came, left, or was decided about.",
            [
                Shapes.listener, Shapes.listenerName,
                Field("status", .choice(LiveListenerChanged.Status.allCases.map(\.rawValue))),
                Field("joined", .integer(0...Int64.max), about: "How many listen now."),
            ], sample: Self.sampleListener + #","status":"joined","joined":1"#),
        Self.live(
            "liveAttention", about: "A listener wants something.",
            [
                Shapes.listener, Shapes.listenerName,
                Field("want", .choice(LiveAttention.Want.allCases.map(\.rawValue))),
            ], sample: Self.sampleListener + #","want":"slower""#),
        Self.live(
            "liveKeysChanged", about: "From here on content is sealed with new keys.",
            [Field("generation", .integer(LiveLimits.generations))], sample: #","generation":2"#),
        Self.live(
            "liveSaid", about: "A completed line of ours has gone out, under this number.",
            Shapes.liveLine, sample: #","line":1,"text":"Is this thing on?""#),
        // Streams of others.
        Self.live("liveWaiting", about: "The whisperer is to decide about us."),
        Self.live(
            "liveJoined", about: "We listen.",
            [
                Field("state", .choice(LiveStreamState.allCases.map(\.rawValue))),
                Field("isTranscribed", .bool, about: "Whether the server keeps completed lines."),
            ], sample: #","state":"live","isTranscribed":false"#),
        Self.live(
            "liveState", about: "The stream is so now.",
            [Field("state", .choice(LiveState.State.allCases.map(\.rawValue)))], sample: #","state":"paused""#),
        Self.live(
            "liveBegan", about: "Another stream begins: its lines are numbered from 1 again, and the text is empty.",
            [Field("contentId", .uuid)], sample: #","contentId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10""#),
        Self.live(
            "liveText", about: "The line under the whisperer's hands reads so now.",
            [Field("text", .text(Shapes.liveTexts))], sample: #","text":"Is this th""#),
        Self.live(
            "liveLine", about: "A completed line. Each number comes once, and may come late.",
            Shapes.liveLine, sample: #","line":1,"text":"Is this thing on?""#),
        Self.live(
            "liveMissing", about: "These lines are missing, and no longer waited for.",
            [Field("from", .integer(LiveLimits.lineNumbers)), Field("to", .integer(LiveLimits.lineNumbers))],
            sample: #","from":2,"to":3"#),
        Self.live(
            "liveCue", about: "Something to be played, said or opened: exactly one of the three.",
            [
                Field("sound", .choice(LiveSound.allCases.map(\.rawValue)), .optional),
                Field("say", .text(Shapes.liveTexts), .optional, about: "To be said if reading aloud is on."),
                Field("transcript", .text(1...1_000), .optional, about: "The link of a shared transcript."),
            ], sample: #","sound":"air-horn""#),
        Self.live(
            "liveEnded", about: "We do not listen any more.",
            [
                Field(
                    "reason",
                    .choice(["notFound", "forbidden", "broken"] + LiveRefused.Reason.allCases.map(\.rawValue)),
                    about:
                        "`notFound`: the link opens nothing now. `forbidden`: we are blocked. `broken`: the server does not take our frames."
                ), Field("note", .text(0...200), .optional, about: "A word of the whisperer."),
            ], sample: #","reason":"removed""#),
    ]
}

extension EventText {
    /// - Parameter origin: of links.
    /// - Returns: `nil` for what the machines ask of the server.
    static func event(
        _ conversation: ConversationID, _ news: LiveNews, origin: String, account: WhisperID?
    ) -> [UInt8]? {
        var json = JSONWriter()
        func begin(_ type: String) {
            json.add("type", type)
            json.add("conversationId", conversation.uuid)
        }
        func add(_ listener: PrincipalID, _ name: String) {
            json.add("listener", "\(listener)")
            json.add("name", name)
        }
        switch news {
        case .started(let isResumed):
            begin("liveStarted")
            json.add("isResumed", isResumed)
        case .stopped(let reason):
            begin("liveStopped")
            json.add("reason", reason.rawValue)
        case .refused(let code):
            begin("liveFailed")
            json.add("code", code.rawValue)
        case .asks(let listener, let name, let note):
            begin("liveKnocked")
            add(listener, name)
            json.add("note", note)
        case .listener(let listener, let name, let status, let joined):
            begin("liveListener")
            add(listener, name)
            json.add("status", status.rawValue)
            json.add("joined", Int64(joined))
        case .attention(let listener, let name, let want):
            begin("liveAttention")
            add(listener, name)
            json.add("want", want.rawValue)
        case .keysChanged(let generation):
            begin("liveKeysChanged")
            json.add("generation", Int64(generation))
        case .said(let number, let text):
            begin("liveSaid")
            Shapes.write(number, text, &json)
        case .waiting: begin("liveWaiting")
        case .joined(let state, let isTranscribed):
            begin("liveJoined")
            json.add("state", state.rawValue)
            json.add("isTranscribed", isTranscribed)
        case .state(let state):
            begin("liveState")
            json.add("state", state.rawValue)
        case .heard(.began(let content)):
            begin("liveBegan")
            json.add("contentId", content)
        case .heard(.text(let text)):
            begin("liveText")
            json.add("text", text.string)
        case .heard(.line(let number, let text)):
            begin("liveLine")
            Shapes.write(number, text, &json)
        case .heard(.missing(let lines)):
            begin("liveMissing")
            json.add("from", Int64(lines.lowerBound))
            json.add("to", Int64(lines.upperBound))
        case .heard(.cue(let cue)):
            begin("liveCue")
            switch cue {
            case .sound(let sound): json.add("sound", sound.rawValue)
            case .say(let text): json.add("say", text.string)
            case .transcript(let shared):
                json.add("transcript", "\(origin)/transcript/\(shared.share)#\(Base64URL.encode(shared.secret))")
            }
        case .heard(.resync), .heard(.join): return nil
        case .over(let end, let note):
            begin("liveEnded")
            json.add("reason", Shapes.reason(of: end))
            json.add("note", note)
        }
        return Self.envelope(json.finished(), number: nil, account: account)
    }
}
