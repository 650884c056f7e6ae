import Contract
import WhisperClient

extension Verb {
    private static let sound = TypedField<LiveSound>.choice("sound").optional
    private static let say = TypedField.text(
        "say", 1...LiveLimits.textBytesMax, about: "To be said where reading aloud is on."
    ).optional
    private static let to = TypedField.principalID("to", about: "A listener. Default: everybody.").optional

    static let liveCue = Verb(
        "live_cue", of: "live", about: "Has exactly one of `sound` and `say` played or said at the listeners.",
        [LiveParameters.conversation.field, Self.sound.field, Self.say.field, Self.to.field], type: "cued",
        LiveParameters.done, errors: [.noIdentity, .notFound, .tooMany, .tooLong],
        samples: (#"{\#(Shapes.sampleConversationID),"sound":"bike-bell"}"#, LiveParameters.sampleDone("cued")),
        .client { opened, parameters, json in
            let cue: LiveCue
            switch (try parameters[Self.sound], try parameters[Self.say]) {
            case (let sound?, nil): cue = .sound(sound)
            case (nil, let said?):
                guard said.unicodeScalars.allSatisfy(LiveText.isAllowed) else {
                    throw CoreError(.invalidField, "has a line end or a control character", field: "say")
                }
                guard let text = LiveText(said) else { throw CoreError(.tooLong, "has too many bytes", field: "say") }
                cue = .say(text)
            default: throw CoreError(.invalidField, "Give one of sound and say.", field: "sound")
            }
            let id = try await opened.whispering(parameters)
            try await opened.with { try $0.streams.play(cue, to: try parameters[Self.to], in: id, $0) }
            json.add("conversationId", id.uuid)
        })
}
