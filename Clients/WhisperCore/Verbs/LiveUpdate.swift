import Contract
import WhisperClient

extension Verb {
    private static let newLink = TypedField.bool(
        "newLink", about: "Draws another link. The one before opens nothing more; who was let in stays."
    ).optional

    static let liveUpdate = Verb(
        "live_update", of: "live",
        about: "Changes a conversation of our own. It is kept here even if the server does not answer: then repeat it.",
        [LiveParameters.conversation.field] + LiveParameters.settings + [Self.newLink.field], type: "conversation",
        LiveParameters.own, errors: LiveParameters.errors,
        samples: (#"{\#(Shapes.sampleConversationID),"title":"Another talk"}"#, LiveParameters.sampleOwn),
        .server { opened, parameters, json in
            var own = try opened.ownConversation(try parameters[LiveParameters.conversation])
            own.title = try LiveParameters.shown(parameters, LiveParameters.title, "title") ?? own.title
            own.whisperer = try LiveParameters.shown(parameters, LiveParameters.whisperer, "whisperer") ?? own.whisperer
            own.admission = try parameters[LiveParameters.admission] ?? own.admission
            let passcode = try LiveParameters.shown(parameters, LiveParameters.passcode, "passcode")
            own.passcode = passcode ?? (own.admission == .passcode ? own.passcode : nil)
            guard (own.admission == .passcode) == (own.passcode != nil) else {
                throw CoreError(.invalidField, "does not fit the admission", field: "passcode")
            }
            own.transcriptDays = try parameters[LiveParameters.transcriptDays].map { Int($0) } ?? own.transcriptDays
            if try parameters[Self.newLink] ?? false { own.drawLink() }
            try await opened.with { [own] client in try await client.conversations.update(own, client) }
            let origin = opened.origin
            json.add("conversation", object: own) { Shapes.write($0, nil, origin: origin, &$1) }
        })
}
