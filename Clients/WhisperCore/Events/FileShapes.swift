import Contract
import WhisperClient

/// Files in answers and events.
extension Shapes {
    static let attachment = ObjectSchema([
        Field(
            "name", .text(1...ClientLimits.fileNameBytesMax), .optional,
            about: "As the sender calls it. It has no folder."),
        Field("mimeType", .text(1...ClientLimits.fileTypeBytesMax), about: "The sender's word."),
        Field("size", .integer(0...Limits.fileBytesMax), about: "In bytes."),
        Field(
            "thumbnail", .base64(0...ClientLimits.thumbnailBytesMax), .optional,
            about: "A small picture, as the sender's host made it."),
        Field(
            "voice", .object(VoiceShape.schema), .optional,
            about: "The file is a voice note of this length and loudness, as the sender's host measured them."),
        Field(
            "image", .object(ImageShape.schema), .optional,
            about: "Width and height of a picture in pixels, as the sender's host measured them: its place can be kept."
        ),
        Field(
            "isUnsigned", .bool, .optional,
            about:
                "True if no signature covers the file: the server can have put another file of the sender in its place, or given it another type. Say so where it is shown."
        ),
        Field(
            "state", .choice(["offered", "waiting", "complete", "kept", "failed"]),
            about:
                "A received file: `offered` until it is asked for, `complete` once it was written, `kept` if the core keeps it. Our own: `waiting` until it is uploaded."
        ),
        Field("reason", .choice(FileFailure.allCases.map(\.rawValue)), .optional, about: "With `failed`."),
    ])

    static func write(_ attachment: Attachment, _ json: inout JSONWriter) {
        let details = attachment.details
        json.add("name", details.name)
        json.add("mimeType", details.type)
        json.add("size", details.size)
        if details.isUnsigned { json.add("isUnsigned", true) }
        if let thumbnail = details.thumbnail { json.add("thumbnail", base64: thumbnail) }
        json.add(VoiceShape.field, details.voice)
        json.add(ImageShape.field, details.image)
        switch attachment.state {
        case .offered: json.add("state", "offered")
        case .waiting: json.add("state", "waiting")
        case .complete: json.add("state", "complete")
        case .kept: json.add("state", "kept")
        case .failed(let failure):
            json.add("state", "failed")
            json.add("reason", failure.rawValue)
        }
    }

    static let sampleFileMessage =
        #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","chat":"WSP-AAAA-AAAA-AAAA","direction":"out","time":1767225600000,"kind":"text","text":"","attachment":{"name":"tea.jpg","mimeType":"image/jpeg","size":123456,"state":"waiting"},"state":"queued"}"#

    static let sampleReceivedFile =
        #"{"messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","chat":"WSP-AAAA-AAAA-AAAA","direction":"in","time":1767225600000,"kind":"text","text":"","attachment":{"name":"tea.jpg","mimeType":"image/jpeg","size":123456,"state":"waiting"},"isRead":false}"#
}

/// A voice note in verbs, answers and events.
enum VoiceShape {
    static let field = TypedField<VoiceNote>.object(
        "voice", Self.schema,
        about: "Sends a voice note: `mimeType` is one of audio. The core records and measures nothing."
    ) { payload throws(Payload.Corrupted) in
        guard let voice = VoiceNote(durationMs: try payload[Self.durationMs], waveform: try payload[Self.waveform])
        else { throw Payload.Corrupted() }
        return voice
    } write: { voice in
        var json = JSONWriter(capacity: 128)
        json.add(Self.durationMs, voice.durationMs)
        json.add(Self.waveform, voice.waveform)
        return json.finished()
    }.optional

    static let schema = ObjectSchema([Self.durationMs.field, Self.waveform.field])

    private static let durationMs = TypedField.integer(
        "durationMs", ClientLimits.voiceDuration, about: "Milliseconds.")
    private static let waveform = TypedField.base64(
        "waveform", ClientLimits.waveformSlices, about: "The peak of each of equal slices, a byte each."
    ).optional
}

/// The size of a picture in verbs, answers and events.
enum ImageShape {
    static let field = TypedField<ImageSize>.object(
        "image", Self.schema, about: "Sends a picture: `mimeType` is one of images. The core measures nothing."
    ) { payload throws(Payload.Corrupted) in
        guard let image = ImageSize(width: try payload[Self.width], height: try payload[Self.height]) else {
            throw Payload.Corrupted()
        }
        return image
    } write: { image in
        var json = JSONWriter(capacity: 64)
        json.add(Self.width, image.width)
        json.add(Self.height, image.height)
        return json.finished()
    }.optional

    static let schema = ObjectSchema([Self.width.field, Self.height.field])

    private static let width = TypedField.integer("width", ClientLimits.imageSide, about: "Pixels.")
    private static let height = TypedField.integer("height", ClientLimits.imageSide, about: "Pixels.")
}

extension EventText {
    static func write(_ progress: FileProgress, _ json: inout JSONWriter) {
        json.add("type", "fileProgress")
        json.add("messageId", progress.messageID)
        json.add("chat", progress.place.name)
        if let author = progress.author { json.add("from", author) }
        json.add("bytes", progress.bytes)
        json.add("total", progress.total)
    }
}

extension EventDefinition {
    static let fileProgress = EventDefinition(
        "fileProgress",
        about:
            "How far the file of a message is: at most \(ClientLimits.progressStepsMax) times in one attempt. The message says when it is complete.",
        isKept: false,
        [
            Field("messageId", .uuid),
            Field("chat", .text(1...64), about: "A Whisper ID, or the id of a group in lower case."),
            Field("from", .whisperID, .optional, about: "In a download: the author of the message."),
            Field("bytes", .integer(0...Int64.max), about: "Sealed bytes that are done."),
            Field("total", .integer(1...Int64.max), about: "Sealed bytes in all: some more than the file has."),
        ],
        sample:
            #"{"type":"fileProgress","messageId":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10","chat":"WSP-AAAA-AAAA-AAAA","from":"WSP-AAAA-AAAA-AAAA","bytes":65536,"total":123472}"#
    )
}
