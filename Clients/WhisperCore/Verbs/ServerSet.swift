import Contract
import WhisperClient

extension Verb {
    private static let url = TypedField.text(
        "url", 1...2_048, about: "`wss://chat.example`, or the host alone: then it is `wss`.")

    private static func address(_ text: String) throws(CoreError) -> ServerAddress {
        let text = text.contains("://") ? text : "wss://" + text
        guard let address = ServerAddress(text) else {
            throw CoreError(.invalidField, "must look like wss://chat.example", field: "url")
        }
        return address
    }

    private static let chosen = Field("url", .text(1...2_048), about: "The whole address.")

    static let serverCheck = Verb(
        "server_check", of: "session", about: "Looks whether a Whisper server answers at an address.",
        [Self.url.field], type: "server", [Self.chosen, Field("answers", .bool)],
        samples: (#"{"url":"chat.example"}"#, #"{"type":"server","url":"wss://chat.example","answers":true}"#),
        .core { core, parameters, json in
            let address = try Self.address(try parameters[Self.url])
            json.add("url", "\(address)")
            json.add("answers", try await core.answers(at: address))
        })

    static let serverSet = Verb(
        "server_set", of: "session", about: "Chooses the server of the identity that will be made. It asks nobody.",
        [Self.url.field], type: "serverSet", [Self.chosen], errors: [.identityExists, .closed],
        samples: (#"{"url":"chat.example"}"#, #"{"type":"serverSet","url":"wss://chat.example"}"#),
        .core { core, parameters, json in
            let address = try Self.address(try parameters[Self.url])
            try core.choose(address)
            json.add("url", "\(address)")
        })
}
