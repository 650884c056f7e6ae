import Contract
import WhisperClient

extension Verb {
    private static let link = TypedField.text("link", 1...1_000).optional
    private static let conversation = TypedField.conversationID(
        "conversationId", about: "Instead of a link: a conversation that we have listened to."
    ).optional
    private static let name = LiveParameters.name("name", about: "As the whisperer is to see us called.")
    private static let note = TypedField.text("note", LiveLimits.noteScalars, about: "A word for the whisperer.")
        .optional

    static let liveListen = Verb(
        "live_listen", of: "live",
        about:
            "Looks whose conversation it is, knocks or comes back, and listens until `live_leave` or `disconnect`. Events follow. Ask the user first: the whisperer gets the name.",
        [Self.link.field, Self.conversation.field, Self.name.field, LiveParameters.passcode.field, Self.note.field],
        type: "listening", LiveParameters.done,
        errors: [.noIdentity, .offline, .unreachable, .server, .notFound, .foreignKeys, .store],
        samples: (
            #"{"link":"https://chat.example/listen/3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61#AAAAAAAAAAAAAAAAAAAAAA","name":"Bob"}"#,
            LiveParameters.sampleDone("listening")
        ),
        .server { opened, parameters, json in
            let link: ListenLink
            switch (try parameters[Self.link], try parameters[Self.conversation]) {
            case (let text?, nil): link = try opened.listenLink(text)
            case (nil, let id?):
                guard let heard = try opened.live.heard().first(where: { $0.link.conversation == id }) else {
                    throw CoreError(.notFound, field: "conversationId")
                }
                link = heard.link
            default: throw CoreError(.invalidField, "Give one of link and conversationId.", field: "link")
            }
            let name = try parameters[Self.name]
            guard isName(name) else { throw CoreError(.invalidField, "has characters that no name has", field: "name") }
            let look = try await opened.client.conversations.look(at: link)
            let (word, note) = (try parameters[LiveParameters.passcode], try parameters[Self.note])
            try await opened.listen(to: link, look, name: name, passcode: word, note: note)
            json.add("conversationId", link.conversation.uuid)
        })
}
