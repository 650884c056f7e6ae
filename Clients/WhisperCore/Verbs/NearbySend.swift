import Contract
import WhisperClient

extension Verb {
    private static let text = TypedField.text(
        "text", 1...NearbyLimits.textBytesMax, about: "At most \(NearbyLimits.textBytesMax) bytes of UTF-8.")

    static let nearbySend = Verb(
        "nearby_send", of: "nearby",
        about:
            "Sends plain text to a connected phone that knows BlueChat alone: not encrypted, not signed, not kept. To one of us it is `unsupported`: a contact who is connected gets a `message_send` over the air.",
        [NearbyParameters.peer.field, Self.text.field], type: "nearbySending",
        [Field("number", .integer(1...Int64.max), about: "The event `nearbySent` has it.")],
        errors: [.noIdentity, .notFound, .wrongStage, .tooLong, .unsupported],
        samples: (#"{"peer":"p7","text":"hello"}"#, #"{"type":"nearbySending","number":9}"#),
        .client { opened, parameters, json in
            let text = try parameters[Self.text]
            guard text.utf8.count <= NearbyLimits.textBytesMax else {
                throw CoreError(.tooLong, "has too many bytes", field: "text")
            }
            let number = try await opened.with { try $0.nearby.send(text, to: try NearbyParameters.peer(parameters)) }
            json.add("number", Int64(number))
        })
}
