import Contract
import WhisperClient

extension Verb {
    private static let transcript = ObjectSchema([
        Field("contentId", .uuid), Field("startedAt", .timestamp),
        Field("endedAt", .timestamp, .optional, about: "Absent while the stream goes on."),
        Field("lines", .integer(0...Int64.max)), Field("expiresAt", .timestamp),
    ])

    static let liveTranscripts = Verb(
        "live_transcripts", of: "live",
        about: "Shows streams of ours whose lines the server keeps, the newest \(CoreLimits.listMax).",
        [LiveParameters.conversation.field], type: "transcripts",
        [Field("transcripts", .array(of: .object(Self.transcript), count: 0...CoreLimits.listMax))],
        errors: LiveParameters.errors,
        samples: (LiveParameters.named, #"{"type":"transcripts","transcripts":[]}"#),
        .server { opened, parameters, json in
            let id = try opened.ownConversation(try parameters[LiveParameters.conversation]).id
            let transcripts = try await opened.with { try await $0.conversations.transcripts(of: id, $0) }
            json.add("transcripts", objects: transcripts.prefix(CoreLimits.listMax)) { one, json in
                json.add("contentId", one.content)
                json.add("startedAt", one.startedAt)
                if let end = one.endedAt { json.add("endedAt", end) }
                json.add("lines", Int64(one.lines))
                json.add("expiresAt", one.expiresAt)
            }
        })
}
