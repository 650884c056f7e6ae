import Contract
import WhisperClient

extension Verb {
    private static let chat = TypedField.whisperID("chat")
    private static let isTyping = TypedField.bool("isTyping")

    static let typing = Verb(
        "typing", of: "presence",
        about:
            "Tells a contact that somebody types here, or has stopped. Give it with each key: no more is sent than the server takes.",
        [Self.chat.field, Self.isTyping.field], type: "typingSaid",
        [
            Field(
                "state", .choice(["now", "later", "known", "full", "off"]),
                about:
                    "Whether it goes out now, after a pause, or not: it was said, too many people are being told, or the setting is off."
            )
        ], errors: [.noIdentity, .offline, .toSelf, .unknownContact, .bannedContact, .blockedContact, .store],
        samples: (#"{"chat":"WSP-AAAA-AAAA-AAAA","isTyping":true}"#, #"{"type":"typingSaid","state":"now"}"#),
        .client { opened, parameters, json in
            guard await opened.client.isOnline else { throw CoreError(.offline) }
            let (isTyping, peer) = (try parameters[Self.isTyping], try parameters[Self.chat])
            let verdict = try await opened.with { try $0.presence.say(typing: isTyping, to: peer, $0) }
            json.add("state", verdict.map { "\($0)" } ?? "off")
        })
}
