import Contract
import WhisperClient

extension Verb {
    static let liveLeave = Verb(
        "live_leave", of: "live", about: "Stops listening. An admitted listener may come back without knocking.",
        [LiveParameters.conversation.field], type: "liveLeft", LiveParameters.done, errors: LiveParameters.errors,
        samples: (LiveParameters.named, LiveParameters.sampleDone("liveLeft")),
        .server { opened, parameters, json in
            let id = try parameters[LiveParameters.conversation]
            try await opened.ending(.listening(id)) { try await $0.heard.stop(to: id, $0) }
            json.add("conversationId", id.uuid)
        })
}
