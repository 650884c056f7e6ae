/// "The conversation is otherwise now." Answered by `live_conversation` (contract §14.6, §19.12).
package struct LiveUpdate: ClientFrame {
    package let conversation: ConversationID
    package let linkVerifier: Bytes32?
    package let transcriptDays: Int?
    package let info: LiveSigned?
    /// It changes something, and what must stand together does.
    package let isWhole: Bool

    private static let linkVerifier = LiveFields.linkVerifier.optional
    private static let transcriptDays = LiveFields.transcriptDays.optional
    private static let from = LiveFields.from.optional
    private static let timestamp = LiveFields.timestamp.optional
    private static let signature = LiveFields.signature.optional
    private static let info = TypedField<LiveSealed>.object("info", about: "As `ciphertext` of `live_create`.").optional

    package static let definition = FrameDefinition(
        "live_update",
        about: """
            Changes the link, the info or how long lines are kept: at least one of them. With a new `linkVerifier` old links open \
            nothing more, and `info` must stand beside it. `info` is signed by `from`, `timestamp` and `sig`.
            """,
        route: .share(of: "conversationId"), rate: Rates.liveControl,
        fields: CommonFields.privileged + [
            LiveFields.conversation.field, Self.linkVerifier.field, Self.transcriptDays.field, Self.info.field,
            Self.from.field, Self.timestamp.field, Self.signature.field,
        ],
        refusals: [
            (
                .invalidPayload,
                "It changes nothing, `linkVerifier` stands without `info`, or `info` without `from`, `timestamp` and `sig`."
            ), LiveFields.notFound, LiveFields.untimely,
        ],
        samples: [
            CommonFields.sample(LiveFields.sampleConversation + #","transcriptDays":0"#),
            CommonFields.sample(
                LiveFields.sampleConversation
                    + #","linkVerifier":"\#(LiveFields.sampleSecret)","info":{\#(LiveFields.sampleSealed)},"from":"\#(LiveFields.sampleIdentity)","timestamp":1730000000000,"sig":"\#(LiveFields.sampleSignature)""#
            ),
        ])

    package init(_ conversation: ConversationID, linkVerifier: Bytes32?, transcriptDays: Int?, info: LiveSigned?) {
        (self.conversation, self.linkVerifier) = (conversation, linkVerifier)
        (self.transcriptDays, self.info) = (transcriptDays, info)
        self.isWhole = info != nil || linkVerifier == nil && transcriptDays != nil
    }

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.conversation = try payload[LiveFields.conversation]
        self.linkVerifier = try payload[Self.linkVerifier].flatMap { Bytes32($0) }
        self.transcriptDays = try payload[Self.transcriptDays].map { Int($0) }
        if let seal = try payload[Self.info] {
            if let from = try payload[Self.from], let timestamp = try payload[Self.timestamp],
                let signature = try payload[Self.signature].flatMap({ Bytes64($0) })
            {
                self.info = LiveSigned(
                    from: from, timestamp: timestamp, nonce: seal.nonce, ciphertext: seal.ciphertext,
                    signature: signature)
                self.isWhole = true
            } else {
                self.info = nil
                self.isWhole = false
            }
        } else {
            self.info = nil
            self.isWhole = self.linkVerifier == nil && self.transcriptDays != nil
        }
    }

    package func write(to json: inout JSONWriter) {
        json.add(LiveFields.conversation, self.conversation)
        json.add(Self.linkVerifier, self.linkVerifier?.bytes)
        json.add(Self.transcriptDays, self.transcriptDays.map { Int64($0) })
        json.add(Self.info, self.info.map { LiveSealed(nonce: $0.nonce, ciphertext: $0.ciphertext) })
        json.add(Self.from, self.info?.from)
        json.add(Self.timestamp, self.info?.timestamp)
        json.add(Self.signature, self.info?.signature.bytes)
    }
}

/// The info of a conversation: SEALED of contract §14.2.
struct LiveSealed: ObjectValue {
    let nonce: [UInt8]
    let ciphertext: [UInt8]

    private static let ciphertext = LiveFields.ciphertext(LiveLimits.infoCiphertext)
    static let schema = ObjectSchema([LiveFields.nonce.field, Self.ciphertext.field])

    init(nonce: [UInt8], ciphertext: [UInt8]) { (self.nonce, self.ciphertext) = (nonce, ciphertext) }

    init(_ payload: Payload) throws(Payload.Corrupted) {
        self.nonce = try payload[LiveFields.nonce]
        self.ciphertext = try payload[Self.ciphertext]
    }

    var json: [UInt8] {
        var json = JSONWriter()
        json.add(LiveFields.nonce, self.nonce)
        json.add(Self.ciphertext, self.ciphertext)
        return json.finished()
    }
}
