import Contract
import WhisperClient

extension Verb {
    private static let messageID = TypedField.uuid("messageId")
    private static let from = TypedField.whisperID("from", about: "The author of the message.")
    private static let target = TypedField.text(
        "to", 1...ClientLimits.pathBytesMax,
        about:
            "Where the file is to be: an absolute path at which nothing stands. It is there when it is whole and genuine."
    )

    static let attachmentGet = Verb(
        "attachment_get", of: "files",
        about:
            "Downloads the file of a message, now or when the server is back. It goes on after a restart. The message's `attachment` says how it stands, `fileProgress` how far it is.",
        [Self.messageID.field, Self.from.field, Self.target.field],
        type: "message", [Field("message", .object(Shapes.message))],
        errors: [.noIdentity, .notFound, .file, .tooMany, .store],
        samples: (
            #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","from":"WSP-AAAA-AAAA-AAAA","to":"/home/bob/tea.jpg"}"#,
            #"{"type":"message","message":\#(Shapes.sampleReceivedFile)}"#
        ),
        .client { opened, parameters, json in
            let target = try parameters[Self.target]
            guard target.hasPrefix("/"), !target.hasSuffix("/") else {
                throw CoreError(.invalidField, "is no absolute path of a file", field: "to")
            }
            guard TransferFiles.canBeMade(at: target) else { throw CoreError(.file, field: "to") }
            let (id, author) = (try parameters[Self.messageID], try parameters[Self.from])
            let message = try await opened.with { try $0.transfers.fetch(of: id, from: author, to: target, $0) }
            json.add("message", object: message) { Shapes.write($0, &$1) }
        })
}
