import Contract
import WhisperClient

extension Verb {
    private static let messageID = TypedField.uuid("messageId")
    private static let from = TypedField.whisperID("from", about: "The author of the message.")

    static let attachmentKeep = Verb(
        "attachment_keep", of: "files",
        about:
            "Downloads the file of a message as `attachment_get` does, and keeps it sealed in the core's folder. The door of `whisper app` gives it out. Kept files have at most 500 MB: those unused longest go first.",
        [Self.messageID.field, Self.from.field],
        type: "message", [Field("message", .object(Shapes.message))],
        errors: [.noIdentity, .notFound, .tooMany, .store],
        samples: (
            #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","from":"WSP-AAAA-AAAA-AAAA"}"#,
            #"{"type":"message","message":\#(Shapes.sampleReceivedFile)}"#
        ),
        .client { opened, parameters, json in
            let (id, author) = (try parameters[Self.messageID], try parameters[Self.from])
            let message = try await opened.with { try $0.transfers.fetch(of: id, from: author, to: nil, $0) }
            json.add("message", object: message) { Shapes.write($0, &$1) }
        })
}
