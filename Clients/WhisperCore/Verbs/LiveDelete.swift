import Contract
import WhisperClient

extension Verb {
    static let liveDelete = Verb(
        "live_delete", of: "live",
        about: "Ends a conversation of our own for good, with its listeners, transcripts and shares.",
        [LiveParameters.conversation.field], type: "liveDeleted", LiveParameters.done, errors: LiveParameters.errors,
        samples: (LiveParameters.named, LiveParameters.sampleDone("liveDeleted")),
        .server { opened, parameters, json in
            let id = try opened.ownConversation(try parameters[LiveParameters.conversation]).id
            try await opened.with { try await $0.conversations.delete(id, $0) }
            json.add("conversationId", id.uuid)
        })
}
