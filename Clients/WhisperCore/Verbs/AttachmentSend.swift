import Contract
import WhisperClient

extension Verb {
    private static let to = ChatField("chat", about: "A contact or a group.")
    private static let path = TypedField.text(
        "path", 1...ClientLimits.pathBytesMax,
        about: "Path of the file, which is not needed any more when this answers."
    ).optional
    private static let file = TypedField.uuid(
        "file",
        about:
            "In place of `path`: a file that was given to the door of `whisper app` (docs/app.md). This takes it, and the core keeps it: the state is `kept`."
    ).optional
    private static let name = TypedField.text(
        "name", 1...ClientLimits.fileNameBytesMax, about: "As the reader is to see it. Default: that of the path."
    ).optional
    private static let mimeType = TypedField.text(
        "mimeType", 1...ClientLimits.fileTypeBytesMax,
        about: "Default `application/octet-stream`. The server sees it, and has bounds for images, audio and the rest."
    ).optional
    private static let text = TypedField.text(
        "text", 1...ClientLimits.textBytesMax,
        about: "Text beside the file. At most \(ClientLimits.textBytesMax) bytes."
    ).optional
    private static let thumbnail = TypedField.base64(
        "thumbnail", 1...ClientLimits.thumbnailBytesMax, about: "A small picture. Its format is the hosts' matter."
    ).optional
    private static let clientID = TypedField.uuidV4(
        "clientId", about: "The id that the message is to have, as with `message_send`."
    ).optional
    private static let replyTo = TypedField.uuid("replyTo", about: "The message of the chat that this one answers.")
        .optional
    private static let replyFrom = TypedField.whisperID(
        "replyFrom", about: "The author of that message. Default: the one of both who has this id."
    ).optional

    static let attachmentSend = Verb(
        "attachment_send", of: "files",
        about:
            "Seals a file and queues a message with it. The file is uploaded now or when the server is back, then the message goes. Later messages do not wait for it.",
        [
            Self.to.field, Self.path.field, Self.file.field, Self.name.field, Self.mimeType.field, Self.text.field,
            Self.thumbnail.field, VoiceShape.field.field, ImageShape.field.field, Self.replyTo.field,
            Self.replyFrom.field, Self.clientID.field,
        ],
        type: "message", [Field("message", .object(Shapes.message))],
        errors: [
            .noIdentity, .unknownContact, .bannedContact, .blockedContact, .toSelf, .tooLong, .tooLarge, .file,
            .notFound, .notMember, .tooMany, .conflict, .store,
        ],
        samples: (
            #"{"chat":"WSP-AAAA-AAAA-AAAA","path":"/home/ann/tea.jpg","mimeType":"image/jpeg"}"#,
            #"{"type":"message","message":\#(Shapes.sampleFileMessage)}"#
        ),
        .client { opened, parameters, json in
            let chat = try parameters[Self.to]
            let name = try parameters[Self.name]
            guard name.map({ FileDetails.isName($0) }) ?? true else {
                throw CoreError(.invalidField, "is no name of a file", field: "name")
            }
            let type = try parameters[Self.mimeType] ?? "application/octet-stream"
            guard FileDetails.isType(type) else { throw CoreError(.invalidField, "is no type", field: "mimeType") }
            let voice = try parameters[VoiceShape.field]
            guard voice == nil || VoiceNote.isType(type) else {
                throw CoreError(.invalidField, "needs a type of audio", field: "voice")
            }
            let image = try parameters[ImageShape.field]
            guard image == nil || ImageSize.isType(type) else {
                throw CoreError(.invalidField, "needs a type of images", field: "image")
            }
            let source = try Self.source(parameters)
            let author = try parameters[Self.replyFrom]
            let replyTo = try (try parameters[Self.replyTo]).map {
                try opened.reference(to: $0, in: chat, by: author, field: "replyTo")
            }
            let message = try await opened.with {
                try await $0.transfers.send(
                    file: source, name: name, type: type, thumbnail: try parameters[Self.thumbnail], voice: voice,
                    image: image, text: try parameters[Self.text] ?? "",
                    in: chat, id: try parameters[Self.clientID], replyTo: replyTo, $0)
            }
            guard message.place == chat, message.attachment != nil else {
                throw CoreError(.conflict, field: "clientId")
            }
            json.add("message", object: message) { Shapes.write($0, &$1) }
        })

    private static func source(_ parameters: Payload) throws -> Transfers.Source {
        switch (try parameters[Self.path], try parameters[Self.file]) {
        case (let path?, nil): .path(path)
        case (nil, let file?): .given(file)
        default: throw CoreError(.invalidField, "is one of path and file", field: "path")
        }
    }
}

extension CoreError {
    init(of error: FileError) {
        switch error {
        case .send(let error): self.init(of: error)
        case .file(.tooLarge): self.init(.tooLarge, field: "path")
        case .file: self.init(.file, field: "path")
        case .notFound: self.init(.notFound, field: "messageId")
        case .noFile: self.init(.notFound, "No file was given under this id, or its time is over.", field: "file")
        case .tooMany: self.init(.tooMany)
        case .store: self.init(.store)
        }
    }
}
