import Contract
import WhisperClient

extension Verb {
    private static let link = TypedField.text("link", 1...1_000)

    static let liveLook = Verb(
        "live_look", of: "live", about: "Shows whose conversation a link opens. Nobody is told.", [Self.link.field],
        type: "look",
        [
            Shapes.conversationID, Field("title", .text(0...64)), Field("whisperer", .text(0...64)),
            Field("admission", .choice(Admission.allCases.map(\.rawValue))),
            Field("state", .choice(LiveStreamState.allCases.map(\.rawValue))),
            Field("isTranscribed", .bool, about: "Whether the server keeps completed lines."),
        ], errors: [.noIdentity, .unreachable, .server, .notFound, .foreignKeys],
        samples: (
            #"{"link":"https://chat.example/listen/3f0c8a5e-2f0d-1f6b-8d55-0c4b7d1f2a61#AAAAAAAAAAAAAAAAAAAAAA"}"#,
            #"{"type":"look",\#(Shapes.sampleConversationID),"title":"A talk","whisperer":"Ann","admission":"knock","state":"live","isTranscribed":false}"#
        ),
        .server { opened, parameters, json in
            let link = try opened.listenLink(try parameters[Self.link])
            let look = try await opened.client.conversations.look(at: link)
            json.add("conversationId", link.conversation.uuid)
            json.add("title", look.info.conversation)
            json.add("whisperer", look.info.whisperer)
            json.add("admission", look.info.admission.rawValue)
            json.add("state", look.state.rawValue)
            json.add("isTranscribed", look.isTranscribed)
        })
}

extension OpenCore {
    /// - Throws: `.invalidField` if the text is no link of this server.
    func listenLink(_ text: String) throws(CoreError) -> ListenLink {
        guard let link = ListenLink(text) else {
            throw CoreError(.invalidField, "is no link of a live conversation", field: "link")
        }
        guard link.origin == self.origin else {
            throw CoreError(.invalidField, "is of another server", field: "link")
        }
        return link
    }
}
