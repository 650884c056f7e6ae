import Contract
import WhisperClient

extension Verb {
    private static let conversation = TypedField.conversationID(
        "conversationId", about: "Default: the one that this program holds."
    ).optional
    private static let before = TypedField.integer(
        "before", LiveLimits.lineNumbers, about: "Lines below this number. Default: the newest."
    ).optional

    static let liveGet = Verb(
        "live_get", of: "live",
        about:
            "Shows a conversation in which we whisper or listen, with the newest lines that are kept in memory. A program that has missed events goes on from here.",
        [Self.conversation.field, Self.before.field], type: "live",
        [
            Shapes.conversationID,
            Field("role", .choice(LiveRole.allCases.map(\.rawValue))),
            Field(
                "state",
                .choice([
                    "starting", "live", "stopped", "failed", "joining", "waiting", "idle", "paused", "ended", "over",
                ]),
                about:
                    "Of a whisperer: `starting`, `live`, `stopped` or `failed`. Of a listener: `joining`, `waiting`, how the stream is, or `over`."
            ),
            Field(
                "reason", .text(1...64), .optional,
                about:
                    "Of `stopped`, `failed` and `over`, as the events `liveStopped`, `liveFailed` and `liveEnded` say it."
            ),
            Field("note", .text(0...200), .optional, about: "A word of the whisperer."),
            Field("contentId", .uuid, .optional, about: "The stream of these lines."),
            Field("isTranscribed", .bool, about: "Whether the server keeps completed lines."),
            Field("text", .text(Shapes.liveTexts), about: "The line under the whisperer's hands."),
            Field("lines", .array(of: .object(ObjectSchema(Shapes.liveLine)), count: 0...CoreLimits.listMax)),
            Field("hasOlder", .bool, about: "Whether lines before these are kept."),
            Field(
                "waiting", .array(of: .text(Shapes.liveTexts), count: 0...WhispererMachine.queueMax),
                about: "Completed lines of ours that have not gone out. The event `liveSaid` tells when one has."),
        ], errors: [.noIdentity, .notFound],
        samples: (
            LiveParameters.named,
            #"{"type":"live",\#(Shapes.sampleConversationID),"role":"listener","state":"live","contentId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","isTranscribed":false,"text":"Is this th","lines":[],"hasOlder":false,"waiting":[]}"#
        ),
        .program { program, opened, parameters, json in
            guard let id = try parameters[Self.conversation] ?? program.conversation,
                let (role, view) = await opened.with({ client -> (LiveRole, LiveView)? in
                    client.streams.view(of: id).map { (.whisperer, $0) }
                        ?? client.heard.view(of: id).map { (.listener, $0) }
                })
            else { throw CoreError(.notFound, field: "conversationId") }
            json.add("conversationId", id.uuid)
            json.add("role", role.rawValue)
            view.writeState(&json)
            if let content = view.content { json.add("contentId", content) }
            json.add("isTranscribed", view.isTranscribed)
            json.add("text", view.text.string)
            let page = view.page(before: (try parameters[Self.before]).map { Int($0) }, most: CoreLimits.listMax)
            json.add("lines", objects: page.lines) { Shapes.write($0.number, $0.text, &$1) }
            json.add("hasOlder", page.hasOlder)
            json.add("waiting", strings: view.waiting.map(\.string))
        })
}

extension LiveView {
    fileprivate func writeState(_ json: inout JSONWriter) {
        let (state, reason, note): (String, String?, String?) =
            switch self.state {
            case .starting: ("starting", nil, nil)
            case .held: ("live", nil, nil)
            case .stopped(let reason): ("stopped", reason.rawValue, nil)
            case .failed(let code): ("failed", code.rawValue, nil)
            case .joining: ("joining", nil, nil)
            case .waiting: ("waiting", nil, nil)
            case .joined(let stream): (stream.rawValue, nil, nil)
            case .over(let end, let note): ("over", Shapes.reason(of: end), note)
            }
        json.add("state", state)
        json.add("reason", reason)
        json.add("note", note)
    }
}
