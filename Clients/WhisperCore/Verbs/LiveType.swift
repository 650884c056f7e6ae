import Contract
import WhisperClient

extension Verb {
    static let liveType = Verb(
        "live_type", of: "live",
        about:
            "Says how the line under the hands reads now, after each key. Each line end in it completes a line. The core makes packets of it.",
        [LiveParameters.conversation.field, LiveParameters.text.field], type: "typed",
        LiveParameters.done + [
            Field(
                "text", .text(Shapes.liveTexts), about: "The unfinished line: what is left behind the completed ones.")
        ],
        errors: [.noIdentity, .notFound, .tooMany],
        samples: (
            #"{\#(Shapes.sampleConversationID),"text":"Is this th"}"#,
            #"{"type":"typed",\#(Shapes.sampleConversationID),"text":"Is this th"}"#
        ),
        .client { opened, parameters, json in
            let (id, text) = (try await opened.whispering(parameters), try parameters[LiveParameters.text])
            let rest = try await opened.with {
                try $0.streams.type(text, in: id, $0)
                return $0.streams.view(of: id)?.text
            }
            json.add("conversationId", id.uuid)
            json.add("text", rest?.string ?? "")
        })
}
