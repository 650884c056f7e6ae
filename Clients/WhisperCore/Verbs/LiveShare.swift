import Contract
import WhisperClient

extension Verb {
    private static let seconds = TypedField.integer("expiresInSeconds", LiveLimits.shareSeconds)

    static let liveShare = Verb(
        "live_share", of: "live", about: "Makes a link that opens the kept lines of one stream.",
        [LiveParameters.conversation.field, LiveParameters.content.field, Self.seconds.field], type: "share",
        [Field("shareId", .uuid), Field("link", .text(1...1_000)), Field("expiresAt", .timestamp)],
        errors: LiveParameters.errors + [.tooLong],
        samples: (
            #"{\#(Shapes.sampleConversationID),"contentId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","expiresInSeconds":86400}"#,
            #"{"type":"share","shareId":"0b6d8f0e-3c1a-4f5e-9a77-2d1c0b9a8f7e","link":"https://chat.example/transcript/0b6d8f0e-3c1a-4f5e-9a77-2d1c0b9a8f7e#AAAAAAAAAAAAAAAAAAAAAA","expiresAt":1767312000000}"#
        ),
        .server { opened, parameters, json in
            let own = try opened.ownConversation(try parameters[LiveParameters.conversation])
            let share = try await opened.with {
                try await $0.conversations.share(
                    try parameters[LiveParameters.content], of: own, expiresIn: .seconds(try parameters[Self.seconds]),
                    $0)
            }
            json.add("shareId", share.id)
            json.add("link", share.link(origin: opened.origin))
            json.add("expiresAt", share.expiresAt)
        })
}
