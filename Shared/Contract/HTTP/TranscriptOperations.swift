/// Lines that are kept, and links to them (contract §14.11, §19.22).
package enum TranscriptOperations {
    // MARK: Fields

    static let nonce = LiveFields.nonce
    static let seal = LiveFields.ciphertext(LiveLimits.shareCiphertext)
    static let line = TypedField.integer("line", LiveLimits.lineNumbers)
    private static let after = TypedField.integer(
        "after", 0...LiveLimits.lineNumbers.upperBound, about: "Lines up to this one are left out."
    )
    private static let limit = TypedField.integer("limit", LiveLimits.linePage)
    private static let shareVerifier = TypedField.base64(
        "shareVerifier", LiveLimits.secret, about: "SHA-256 of the share's proof.")
    private static let shareProof = TypedField.base64(
        "shareProof", LiveLimits.secret, about: "From the secret in the link's fragment.")
    private static let expiresInSeconds = TypedField.integer("expiresInSeconds", LiveLimits.shareSeconds)
    private static let shareID = TypedField.lowerCaseUUID("shareId")
    private static let expiresAt = TypedField.timestamp("expiresAt")
    private static let startedAt = TypedField.timestamp("startedAt")
    private static let isOpen = TypedField.bool("isOpen", about: "The stream has not ended: more lines may come.")
    private static let success = TypedField.bool("success", about: "Always `true`.")
    private static let nextLine = TypedField.integer(
        "nextLine", LiveLimits.lineNumbers, about: "There are more lines: the value for `after`.")

    // MARK: Bodies

    /// The body of `shareTranscript`.
    package struct Share: HTTPBody {
        package let shareVerifier: Bytes32
        package let nonce: [UInt8]
        package let ciphertext: [UInt8]
        package let expiresIn: Duration

        package static let schema = ObjectSchema(
            CommonFields.versions + [
                TranscriptOperations.shareVerifier.field, TranscriptOperations.nonce.field,
                TranscriptOperations.seal.field, TranscriptOperations.expiresInSeconds.field,
            ])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            guard let verifier = Bytes32(try payload[TranscriptOperations.shareVerifier]) else {
                throw Payload.Corrupted()
            }
            self.shareVerifier = verifier
            self.nonce = try payload[TranscriptOperations.nonce]
            self.ciphertext = try payload[TranscriptOperations.seal]
            self.expiresIn = .seconds(try payload[TranscriptOperations.expiresInSeconds])
        }
    }

    /// The body of `readShare`.
    package struct Read: HTTPBody {
        package let shareProof: Bytes32
        package let after: Int
        package let limit: Int

        private static let after = TranscriptOperations.after.optional
        private static let limit = TranscriptOperations.limit.optional

        package static let schema = ObjectSchema(
            CommonFields.versions + [TranscriptOperations.shareProof.field, Self.after.field, Self.limit.field])

        package init(_ payload: Payload) throws(Payload.Corrupted) {
            guard let proof = Bytes32(try payload[TranscriptOperations.shareProof]) else { throw Payload.Corrupted() }
            self.shareProof = proof
            self.after = Int(try payload[Self.after] ?? 0)
            self.limit = Int(try payload[Self.limit] ?? LiveLimits.linePage.upperBound)
        }
    }

    // MARK: Answers

    /// One line as it is stored.
    package struct Line: Sendable {
        package var line: Int
        package var position: LivePosition
        package var generation: Int
        package var seal: LineSeal
        package var storedAt: Timestamp

        package init(
            line: Int, position: LivePosition, generation: Int, seal: LineSeal, storedAt: Timestamp
        ) {
            self.line = line
            self.position = position
            self.generation = generation
            self.seal = seal
            self.storedAt = storedAt
        }

        /// The longest member names and numbers, in bytes: what a line is longer than its ciphertext in base64.
        package static let overheadBytesMax = 224
        private static let ciphertext = LiveFields.ciphertext(LiveLimits.packetCiphertext)
        private static let epoch = TypedField.integer("epoch", LiveLimits.sequence)
        private static let seq = TypedField.integer("seq", LiveLimits.sequence)
        private static let generation = TypedField.integer("generation", LiveLimits.generations)
        private static let storedAt = TypedField.timestamp("storedAt")

        fileprivate static let schema = ObjectSchema([
            TranscriptOperations.line.field, Self.epoch.field, Self.seq.field, Self.generation.field,
            TranscriptOperations.nonce.field, Self.ciphertext.field, Self.storedAt.field,
        ])

        fileprivate func write(to json: inout JSONWriter) {
            json.add(TranscriptOperations.line, Int64(self.line))
            json.add(Self.epoch, self.position.epoch)
            json.add(Self.seq, self.position.seq)
            json.add(Self.generation, Int64(self.generation))
            json.add(TranscriptOperations.nonce, self.seal.nonce)
            json.add(Self.ciphertext, self.seal.ciphertext)
            json.add(Self.storedAt, self.storedAt)
        }
    }

    /// Lines that follow each other, and whether there are more.
    package struct Lines: Sendable {
        package var lines: [Line]
        package var isOpen: Bool
        package var hasMore: Bool

        package init(lines: [Line], isOpen: Bool, hasMore: Bool) {
            self.lines = lines
            self.isOpen = isOpen
            self.hasMore = hasMore
        }

        fileprivate static let fields = [
            Field("lines", .array(of: .object(Line.schema), count: 0...Int(LiveLimits.linePage.upperBound))),
            TranscriptOperations.isOpen.field, TranscriptOperations.nextLine.optional.field,
        ]

        fileprivate func write(to json: inout JSONWriter) {
            json.add("lines", objects: self.lines) { $0.write(to: &$1) }
            json.add(TranscriptOperations.isOpen, self.isOpen)
            json.add(
                TranscriptOperations.nextLine.optional, self.hasMore ? self.lines.last.map { Int64($0.line) } : nil)
        }

        package var json: [UInt8] {
            var json = JSONWriter(capacity: self.capacity)
            self.write(to: &json)
            return json.finished()
        }

        fileprivate var capacity: Int {
            self.lines.reduce(256) { $0 + $1.seal.ciphertext.count * 4 / 3 + Line.overheadBytesMax }
        }
    }

    /// The content behind a share's link.
    package struct Shared: Sendable {
        package var conversation: ConversationID
        package var content: UUIDText
        package var signPublicKey: Bytes32
        package var encPublicKey: Bytes32
        package var startedAt: Timestamp
        package var nonce: [UInt8]
        package var ciphertext: [UInt8]

        package init(
            conversation: ConversationID, content: UUIDText, signPublicKey: Bytes32, encPublicKey: Bytes32,
            startedAt: Timestamp, nonce: [UInt8], ciphertext: [UInt8]
        ) {
            self.conversation = conversation
            self.content = content
            self.signPublicKey = signPublicKey
            self.encPublicKey = encPublicKey
            self.startedAt = startedAt
            self.nonce = nonce
            self.ciphertext = ciphertext
        }

        /// All but the lines and the seal, in bytes.
        private static let overheadBytesMax = 1_024

        fileprivate static let fields = [
            LiveFields.conversation.field, LiveFields.content.field, LiveFields.signPublicKey.field,
            LiveFields.encPublicKey.field, TranscriptOperations.startedAt.field, TranscriptOperations.nonce.field,
            TranscriptOperations.seal.field,
        ]

        /// Bytes of JSON beside the lines, at most.
        package var bytes: Int { (self.ciphertext.count + 2) / 3 * 4 + Self.overheadBytesMax }

        package func json(with lines: Lines) -> [UInt8] {
            var json = JSONWriter(capacity: lines.capacity + self.bytes)
            json.add(LiveFields.conversation, self.conversation)
            json.add(LiveFields.content, self.content)
            json.add(LiveFields.signPublicKey, self.signPublicKey.bytes)
            json.add(LiveFields.encPublicKey, self.encPublicKey.bytes)
            json.add(TranscriptOperations.startedAt, self.startedAt)
            json.add(TranscriptOperations.nonce, self.nonce)
            json.add(TranscriptOperations.seal, self.ciphertext)
            lines.write(to: &json)
            return json.finished()
        }
    }

    /// One transcript of a list.
    package struct Transcript: Sendable {
        package var content: UUIDText
        package var startedAt: Timestamp
        package var endedAt: Timestamp?
        package var lines: Int64
        package var bytes: Int64
        /// While the stream goes on: if it ended now.
        package var expiresAt: Timestamp

        package init(
            content: UUIDText, startedAt: Timestamp, endedAt: Timestamp?, lines: Int64, bytes: Int64,
            expiresAt: Timestamp
        ) {
            self.content = content
            self.startedAt = startedAt
            self.endedAt = endedAt
            self.lines = lines
            self.bytes = bytes
            self.expiresAt = expiresAt
        }

        package var cursor: TranscriptCursor { TranscriptCursor(startedAt: self.startedAt, content: self.content) }

        private static let endedAt = TypedField.timestamp("endedAt", about: "Absent while the stream goes on.").optional
        private static let lines = TypedField.integer("lines", 0...Limits.numberMax, about: "How many are stored.")
        private static let bytes = TypedField.integer("bytes", 0...Limits.numberMax, about: "Of their ciphertexts.")
        private static let expiresAt = TypedField.timestamp(
            "expiresAt", about: "When the lines go. While the stream goes on: when they would, if it ended now.")

        fileprivate static let schema = ObjectSchema([
            LiveFields.content.field, TranscriptOperations.startedAt.field, Self.endedAt.field, Self.lines.field,
            Self.bytes.field, Self.expiresAt.field,
        ])

        fileprivate func write(to json: inout JSONWriter) {
            json.add(LiveFields.content, self.content)
            json.add(TranscriptOperations.startedAt, self.startedAt)
            json.add(Self.endedAt, self.endedAt)
            json.add(Self.lines, self.lines)
            json.add(Self.bytes, self.bytes)
            json.add(Self.expiresAt, self.expiresAt)
        }
    }

    package static func answer(_ transcripts: [Transcript], next: TranscriptCursor?) -> [UInt8] {
        var json = JSONWriter(capacity: 64 + 256 * transcripts.count)
        json.add("transcripts", objects: transcripts) { $0.write(to: &$1) }
        json.add("nextCursor", next?.text)
        return json.finished()
    }

    package static func answer(share: UUIDText, expiresAt: Timestamp) -> [UInt8] {
        var json = JSONWriter(capacity: 128)
        json.add(Self.shareID, share)
        json.add(Self.expiresAt, expiresAt)
        return json.finished()
    }

    package static var done: [UInt8] {
        var json = JSONWriter(capacity: 16)
        json.add(Self.success, true)
        return json.finished()
    }

    // MARK: Samples

    private static let lineSample =
        #"{"line":31,"epoch":7,"seq":412,"generation":2,"nonce":"AAECAwQFBgcICQoL","ciphertext":"Y2lwaGVydGV4dCBhbmQgdGFnIG9mIDMyIGJ5dGVzLi4=","storedAt":1730000000000}"#
    private static let linesSample = #""lines":[\#(Self.lineSample)],"isOpen":true,"nextLine":31"#

    private static func versioned(_ members: String) -> String {
        #"{"protocolVersion":1,"cryptoVersion":1,\#(members)}"#
    }

    // MARK: Operations

    private static let path = "/live/{conversationId}"
    private static let conversation = HTTPOperation.Parameter.path("conversationId", .lowerCaseUUID)
    private static let content = HTTPOperation.Parameter.path("contentId", .lowerCaseUUID)
    private static let share = HTTPOperation.Parameter.path("shareId", .lowerCaseUUID)
    private static let notValid = HTTPOperation.Failure(.invalidPayload, "The body or a parameter is not valid.")
    private static let notFound = HTTPOperation.Failure(
        .notFound, "There is no such conversation, or the caller is no member of its profile.")
    private static let noTranscript = HTTPOperation.Failure(
        .notFound,
        "There is no such conversation or transcript, or the caller is no member of the conversation's profile.")

    package static let all = [
        HTTPOperation(
            "listTranscripts", .get, "\(Self.path)/transcripts",
            about: "Streams of which lines are kept, newest first. A stream without lines leaves no transcript.",
            rate: Rates.transcripts,
            parameters: [
                Self.conversation,
                .query("cursor", .text(Limits.cursorCharacters), about: "`nextCursor` of the page before."),
                .query("limit", .integer(LiveLimits.transcriptPage)),
            ],
            success: .json(
                ObjectSchema([
                    Field(
                        "transcripts",
                        .array(
                            of: .object(Transcript.schema), count: 0...Int(LiveLimits.transcriptPage.upperBound))),
                    Field("nextCursor", .text(Limits.cursorCharacters), .optional, about: "There are more."),
                ]),
                sample: "{\"transcripts\":[{" + LiveFields.sampleContent
                    + #","startedAt":1730000000000,"endedAt":1730000600000,"lines":31,"bytes":2048,"expiresAt":1732592600000}],"nextCursor":"1730000000000.c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10"}"#
            ), failures: [Self.notValid, Self.notFound]),
        HTTPOperation(
            "readTranscript", .get, "\(Self.path)/transcripts/{contentId}",
            about: """
                Lines in the order of their numbers, as the whisperer has sealed them. An answer has at most \
                \(Limits.pageBytesMax) bytes.
                """,
            rate: Rates.transcripts,
            parameters: [
                Self.conversation, Self.content,
                .query("after", Self.after.field.type, about: Self.after.field.about),
                .query("limit", Self.limit.field.type),
            ],
            success: .json(ObjectSchema(Lines.fields), sample: "{\(Self.linesSample)}"),
            failures: [Self.notValid, Self.noTranscript]),
        HTTPOperation(
            "deleteTranscript", .delete, "\(Self.path)/transcripts/{contentId}",
            about:
                "Deletes the lines that are stored, and their shares. Of a stream that goes on, later lines are kept.",
            rate: Rates.transcripts, parameters: [Self.conversation, Self.content],
            success: .json(ObjectSchema([Self.success.field]), sample: #"{"success":true}"#),
            failures: [Self.notFound]),
        HTTPOperation(
            "shareTranscript", .post, "\(Self.path)/transcripts/{contentId}/shares",
            about: """
                Makes a link to the transcript. What the link's secret opens is sealed: the keys of the lines. A share never \
                outlives its transcript.
                """,
            rate: Rates.transcripts, parameters: [Self.conversation, Self.content],
            request: (
                Share.schema,
                Self.versioned(
                    #""shareVerifier":"\#(LiveFields.sampleSecret)",\#(LiveFields.sampleSealed),"expiresInSeconds":604800"#
                )
            ),
            success: .json(
                ObjectSchema([Self.shareID.field, Self.expiresAt.field]),
                sample: #"{"shareId":"7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21","expiresAt":1730604800000}"#),
            failures: [
                Self.notValid, Self.noTranscript,
                .init(.forbidden, "The transcript has \(LiveLimits.sharesMax) shares that have not expired."),
            ]),
        HTTPOperation(
            "deleteShare", .delete, "\(Self.path)/shares/{shareId}", about: "Deletes a share, if there is one.",
            rate: Rates.transcripts, parameters: [Self.conversation, Self.share],
            success: .json(ObjectSchema([Self.success.field]), sample: #"{"success":true}"#),
            failures: [Self.notFound]),
        HTTPOperation(
            "readShare", .post, "/live/shares/{shareId}",
            about: """
                Lines of a transcript, for whoever has the link. The client checks that the id is made from the keys, and the \
                signature of each line. An answer has at most \(Limits.pageBytesMax) bytes.
                """,
            access: .anybody, rate: Rates.liveShares, parameters: [Self.share],
            request: (
                Read.schema, Self.versioned(#""shareProof":"\#(LiveFields.sampleSecret)","after":30,"limit":100"#)
            ),
            success: .json(
                ObjectSchema(Shared.fields + Lines.fields),
                sample: "{" + LiveFields.sampleConversation + "," + LiveFields.sampleContent + ","
                    + LiveFields.sampleKeys + #","startedAt":1730000000000,"# + LiveFields.sampleSealed + ","
                    + Self.linesSample + "}"),
            failures: [
                Self.notValid,
                .init(.notFound, "There is no such share, it has expired or was deleted, or the proof is wrong."),
            ]),
    ]
}
