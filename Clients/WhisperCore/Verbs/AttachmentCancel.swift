import Contract
import WhisperClient

extension Verb {
    private static let messageID = TypedField.uuid("messageId")
    private static let from = TypedField.whisperID("from", about: "The author of the message. Without: our own.")
        .optional

    static let attachmentCancel = Verb(
        "attachment_cancel", of: "files",
        about:
            "Ends a download, or an upload with its message. Nothing of it stays on disk. A file that was uploaded already is left alone.",
        [Self.messageID.field, Self.from.field],
        type: "message", [Field("message", .object(Shapes.message))],
        errors: [.noIdentity, .notFound, .store],
        samples: (
            #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","from":"WSP-AAAA-AAAA-AAAA"}"#,
            #"{"type":"message","message":\#(Shapes.sampleReceivedFile)}"#
        ),
        .client { opened, parameters, json in
            let (id, author) = (try parameters[Self.messageID], try parameters[Self.from])
            let message = try await opened.with { try await $0.transfers.cancel(of: id, from: author, $0) }
            guard let message else { throw CoreError(.notFound, "No file of this message waits.", field: "messageId") }
            json.add("message", object: message) { Shapes.write($0, &$1) }
        })
}
