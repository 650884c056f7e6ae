import Contract
import WhisperClient

/// Our part in a live conversation.
enum LiveRole: String, CaseIterable, Sendable {
    case whisperer, listener
}

extension Verb {
    private static let part = TypedField<LiveRole>.choice("as", about: "Whether we whisper or listen there.")

    static let liveHold = Verb(
        "live_hold", of: "live",
        about:
            "Before `live_start` or `live_listen`: when this program has gone, the core stops there. It lasts until `live_stop` or `live_leave`, by whichever program. `busy`: another program holds it, or has opened it.",
        [LiveParameters.conversation.field, Self.part.field], type: "held", LiveParameters.done,
        errors: [.noIdentity, .busy, .tooMany, .unsupported],
        samples: (#"{\#(Shapes.sampleConversationID),"as":"listener"}"#, LiveParameters.sampleDone("held")),
        .program { program, opened, parameters, json in
            let id = try parameters[LiveParameters.conversation]
            switch try parameters[Self.part] {
            case .whisperer:
                try await program.hold(.whispering(id)) { await opened.with { $0.streams.isWhispering(in: id) } }
            case .listener:
                try await program.hold(.listening(id)) { await opened.with { $0.heard.isStillListening(to: id) } }
            }
            json.add("conversationId", id.uuid)
        })
}
