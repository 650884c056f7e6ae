import Contract
import WhisperClient

extension Verb {
    private static let share = TypedField.uuid("shareId")

    static let liveUnshare = Verb(
        "live_unshare", of: "live", about: "Has the link of a share open nothing more.",
        [LiveParameters.conversation.field, Self.share.field], type: "unshared", LiveParameters.done,
        errors: LiveParameters.errors,
        samples: (
            #"{\#(Shapes.sampleConversationID),"shareId":"0b6d8f0e-3c1a-4f5e-9a77-2d1c0b9a8f7e"}"#,
            LiveParameters.sampleDone("unshared")
        ),
        .server { opened, parameters, json in
            let (id, share) = (try parameters[LiveParameters.conversation], try parameters[Self.share])
            try await opened.with { try await $0.conversations.unshare(share, of: id, $0) }
            json.add("conversationId", id.uuid)
        })
}
